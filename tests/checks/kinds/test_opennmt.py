import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.checks.kinds.describing import values
from tests.checks.kinds.yaml_runs import VALUES, names_for, settle, told, unknown_keys
from trimtab.checks.keys.table import load_table
from trimtab.checks.kinds.opennmt import KIND

WHOLE = """
data:
  corpus_1: {path_src: train.en, path_tgt: train.de, transforms: [filtertoolong], weight: 1}
  valid: {path_src: dev.en, path_tgt: dev.de}
save_model: run/model
src_vocab: vocab
share_vocab: true
encoder_type: transformer
decoder_type: transformer
layers: 6
hidden_size: 512
word_vec_size: 512
heads: 8
transformer_ff: 2048
position_encoding: true
optim: adam
adam_beta2: 0.998
learning_rate: 2
decay_method: noam
warmup_steps: 8000
batch_size: 4096
batch_type: tokens
normalization: tokens
accum_count: 4
world_size: 2
gpu_ranks: [0, 1]
train_steps: 100000
label_smoothing: 0.1
dropout: [0.1]
param_init_glorot: 'true'
model_dtype: fp16
"""


def test_a_whole_file_is_told():
    run = told(KIND, WHOLE)
    assert values(run, "task", "encoder_decoder", "from_scratch") == ("translation", True, True)
    assert values(run, "hidden_size", "layers", "heads", "feed_forward") == (512, 6, 8, 2048)
    assert values(run, "norm", "norm_placement", "positions") == ("layer_norm", "pre", "sinusoidal")
    assert values(run, "micro_batch", "batch_unit", "accumulation", "devices") == (4096, "tokens", 4, 2)
    assert values(run, "autocast", "weights_dtype", "loss_normalization") == ("fp16", "fp32", "tokens")
    assert values(run, "corpora", "validation", "sequence_length") == (["train.en", "train.de"], True, 192)
    assert run.keys["param_init_glorot"].value is True
    assert unknown_keys(run) == []


def test_it_begins_with_sgd_at_a_rate_of_one():
    run = told(KIND, "save_model: a\ntrain_steps: 10\n")
    assert values(run, "optimizer", "learning_rate", "schedule", "clip") == ("sgd", 1.0, "none", 5.0)
    assert values(run, "batch_unit", "micro_batch", "warmup_steps") == ("examples", 64, 0)


def test_training_drops_keys_that_it_does_not_know():
    run = told(KIND, WHOLE + "label_smothing: 0.1\n")
    assert (run.table.unknown_keys, unknown_keys(run)) == ("dropped", ["label_smothing"])


def test_corpora_alone_are_a_part_of_a_run():
    run = told(KIND, "data: {a: {path_src: x, path_tgt: y}}\n")
    assert values(run, "corpora", "learning_rate") == (["x", "y"], None)


@pytest.mark.parametrize(
    ("more", "kind"),
    [("max_relative_positions: -1\n", "rotary"), ("max_relative_positions: 20\n", "relative"), ("", "none")],
)
def test_positions_follow_from_two_options(more, kind):
    text = WHOLE.replace("position_encoding: true\n", more)
    assert told(KIND, text).value("positions") == kind


def test_a_block_of_eole_makes_it_another_tools():
    assert names_for("data: {a: {path_src: x}}\ntraining: {optim: adam}\n") == ["eole"]


@given(
    st.dictionaries(st.sampled_from(sorted(load_table("opennmt").keys)), st.sampled_from(VALUES), max_size=8)
)
def test_no_value_is_too_strange(tree):
    settle(KIND, {"save_model": "a", "train_steps": 1, **tree})


def test_a_beginning_that_only_one_option_has_stands_for_it():
    table = told(KIND, WHOLE).table
    assert table.key("train_step").name == "train_steps"
    assert table.key("src_vocab") is table.keys["src_vocab"]
    assert table.key("src_") is None
