import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.checks.kinds.describing import values
from tests.checks.kinds.yaml_runs import VALUES, settle, told, unknown_keys
from trimtab.checks.keys.table import load_table
from trimtab.checks.kinds.eole import KIND

WHOLE = """
src_vocab: vocab
share_vocab: true
seed: 7
data:
  corpus_1: {path_src: train.en, path_tgt: train.de}
  valid: {path_src: dev.en, path_tgt: dev.de}
transforms: [sentencepiece, filtertoolong]
transforms_configs:
  sentencepiece: {src_subword_model: spm.model, tgt_subword_model: spm.model}
  filtertoolong: {src_seq_length: 150}
training:
  model_path: out
  optim: adamw
  learning_rate: 2
  decay_method: noam
  warmup_steps: 4000
  batch_type: tokens
  batch_size: 4096
  accum_count: [1, 4]
  accum_steps: [0, 1000]
  compute_dtype: bf16
  train_steps: 50000
model:
  architecture: transformer
  hidden_size: 512
  layers: 6
  heads: 8
  transformer_ff: 2048
"""


def test_a_whole_file_is_told():
    run = told(KIND, WHOLE)
    assert values(run, "task", "hidden_size", "layers", "from_scratch") == ("translation", 512, 6, True)
    assert values(run, "schedule", "learning_rate", "warmup_steps") == ("noam", 2.0, 4000)
    assert values(run, "accumulation", "batch_unit", "steps", "seed") == (4, "tokens", 50000, 7)
    assert values(run, "sequence_length", "output_dir") == (150, "out")
    assert run.setting("learning_rate").key == "training.learning_rate"
    assert unknown_keys(run) == []


@pytest.mark.parametrize(
    ("more", "autocast", "weights"),
    [("", "bf16", "fp32"), ("  use_amp: false\n", "none", "bf16")],
)
def test_without_amp_the_weights_are_half_precision(more, autocast, weights):
    run = told(KIND, WHOLE.replace("  train_steps", more + "  train_steps"))
    assert values(run, "autocast", "weights_dtype", "stochastic_rounding") == (autocast, weights, None)


def test_a_key_of_another_level_is_refused():
    run = told(KIND, WHOLE + "optim: adam\n")
    assert (run.table.unknown_keys, unknown_keys(run)) == ("refused", ["optim"])


@given(st.dictionaries(st.sampled_from(["model", "training", "data", "transforms"]), st.sampled_from(VALUES)))
def test_no_block_is_too_strange(tree):
    settle(KIND, tree)


KEYS = sorted(key.removeprefix("training.") for key in load_table("eole").keys if key.startswith("training."))


@given(st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES), max_size=8))
def test_no_value_is_too_strange(tree):
    settle(KIND, {"training": tree})
