import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.checks.kinds.describing import values
from tests.checks.kinds.yaml_runs import VALUES, names_for, settle, told, unknown_keys
from trimtab.checks.keys.table import load_table
from trimtab.checks.kinds.marian import KIND, SAVED

WHOLE = """
type: transformer
model: run/model.npz
train-sets: [corpus.en, corpus.de]
vocabs: [joint.spm, joint.spm]
dim-vocabs: [32000, 32000]
enc-depth: 6
dec-depth: 2
dim-emb: 512
transformer-heads: 8
transformer-dim-ffn: 2048
transformer-dropout: 0.1
tied-embeddings-all: true
cost-type: ce-mean-words
max-length: 200
mini-batch-fit: true
maxi-batch: 1000
optimizer-delay: 2
optimizer-params: [0.9, 0.98, 1e-09]
learn-rate: 3e-4
lr-warmup: 16000u
lr-decay-inv-sqrt: [16000]
label-smoothing: 0.1
clip-norm: 0
sync-sgd: yes
devices: [0, 1, 2, 3]
exponential-smoothing: 1e-4
after: 20e,1Gt
valid-sets: [dev.en, dev.de]
valid-freq: 2ku
save-freq: 10000
early-stopping: 10
"""


def test_a_whole_file_is_told():
    run = told(KIND, WHOLE)
    assert values(run, "task", "encoder_decoder", "from_scratch") == ("translation", True, True)
    assert values(run, "hidden_size", "encoder_layers", "layers", "heads") == (512, 6, 2, 8)
    assert values(run, "norm", "norm_placement", "positions", "activation") == (
        "layer_norm", "post", "sinusoidal", "silu",
    )  # fmt: skip
    assert values(run, "learning_rate", "schedule", "warmup_steps", "epsilon") == (
        3e-4,
        "inverse_sqrt",
        16000,
        1e-9,
    )
    assert values(run, "micro_batch", "batch_unit", "accumulation", "devices") == (None, "tokens", 2, 4)
    assert values(run, "epochs", "tokens", "steps") == (20.0, 10**9, None)
    assert values(run, "eval_steps", "save_steps", "patience", "synchronous") == (2000.0, 10000.0, 10, True)
    assert unknown_keys(run) == []


def test_a_part_of_a_run_has_no_defaults():
    run = told(KIND, "enc-depth: 6\ndec-depth: 6\nlearn-rate: 0.0003\nlr-warmup: 1000\n")
    assert values(run, "learning_rate", "warmup_steps", "clip", "schedule") == (3e-4, 1000, None, None)


def test_a_file_that_training_saved_is_told_by_what_is_not_its_default():
    table = load_table("marian")
    saved = {
        name: key.default
        for name, key in table.keys.items()
        if key.has_default and key.default not in ([], "")
    }
    lines = [f"{name}: {json.dumps(value)}" for name, value in saved.items()]
    own = "train-sets: [a, b]\nversion: v1.12.0 abc\n"
    text = own + "\n".join(lines).replace("learn-rate: 0.0001", "learn-rate: 0.0004")
    assert len(lines) > SAVED
    run = told(KIND, text)
    assert list(run.keys) == ["train-sets", "version", "learn-rate"]
    assert run.value("clip") == 1.0


@pytest.mark.parametrize(
    "text",
    ["optim: adam\ntrain_steps: 3\nsave_model: a\n", "lr: 1\n", "models: [a]\nbeam-size: 6\nnormalize: 1\n"],
)
def test_other_files_are_not_marians(text):
    assert "marian" not in names_for(text)


def test_what_an_older_version_had_is_known_by_version():
    key = load_table("marian", {"marian": (1, 10, 0)}).key("guided-alignment-cost")
    assert (key.default, "mult" in key.choices) == ("mse", True)
    assert load_table("marian", {"marian": (1, 12, 0)}).key("guided-alignment-cost").default == "ce"


@settings(max_examples=10, deadline=None)
@given(
    st.dictionaries(st.sampled_from(sorted(load_table("marian").keys)), st.sampled_from(VALUES), max_size=8)
)
def test_no_value_is_too_strange(tree):
    settle(KIND, {"train-sets": ["a", "b"], "type": "transformer", **tree})
