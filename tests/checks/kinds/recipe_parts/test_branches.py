import pytest

from tests.checks.kinds.describing import values
from tests.checks.kinds.yaml_runs import told
from trimtab.checks.kinds.recipe import KIND

SMALL = """
data:
  train: [{source: train.en, target: train.de}]
model: {preset: tiny, layers: 3, norm: rms}
step:
  tokens_per_step: 4096
  precision: PRECISION
  optimizer: {kind: OPTIMIZER}
  schedule: SCHEDULE
  clip: CLIP
length: LENGTH
"""


def run(*, precision="auto", optimizer="adamw", schedule="{}", clip="{}", length="100 steps"):
    text = SMALL.replace("PRECISION", precision).replace("OPTIMIZER", optimizer).replace("SCHEDULE", schedule)
    return told(KIND, text.replace("CLIP", clip).replace("LENGTH", length))


def test_presets_and_defaults_are_resolved():
    whole = run(schedule="{warmup: 10 steps}")
    assert values(whole, "hidden_size", "heads", "layers", "norm") == (192, 3, 3, "rms_norm")
    assert values(whole, "global_batch", "micro_batch", "batch_unit") == (4096, 4096, "tokens")
    assert whole.setting("layers").key == "model.layers"
    assert not whole.is_written("beam")


@pytest.mark.parametrize(("word", "autocast"), [("auto", None), ("bf16_mixed", "bf16"), ("fp32", "none")])
def test_what_the_gpu_decides_is_unknown(word, autocast):
    assert run(precision=word, schedule="{warmup: 10 steps}").value("autocast") == autocast


@pytest.mark.parametrize(
    ("schedule", "word", "warmup"),
    [
        ("{kind: constant}", "constant", 0),
        ("{kind: constant, warmup: 10 steps}", "constant_with_warmup", 10),
        ("{kind: noam, warmup: 50 steps}", "noam", 50),
        ("{kind: cosine, warmup: 1 epochs}", "cosine", None),
    ],
)
def test_schedules_have_their_words(schedule, word, warmup):
    assert values(run(schedule=schedule), "schedule", "warmup_steps") == (word, warmup)


@pytest.mark.parametrize(("clip", "at"), [("{kind: off}", 0.0), ("{at: 2}", 2.0), ("{kind: adaptive}", None)])
def test_clipping_is_a_norm_or_off(clip, at):
    assert run(clip=clip, schedule="{warmup: 10 steps}").value("clip") == at


def test_adafactor_has_no_step_of_its_own():
    whole = run(optimizer="adafactor", schedule="{warmup: 10 steps}")
    assert values(whole, "optimizer", "relative_step", "clip_threshold", "beta1") == (
        "adafactor",
        False,
        1.0,
        None,
    )


def test_lengths_are_told_in_their_unit():
    assert values(run(length="3 epochs"), "steps", "epochs") == (None, 3.0)
