import pytest

from tests.checks.kinds.describing import values
from tests.checks.kinds.yaml_runs import told
from tests.for_each import for_each
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


@for_each(
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


PAIRS = "task: translation\ndata: {train: [{source: a.en, target: a.de}]}\nlength: 100 steps\n"
ON_A_RUN = PAIRS + "model: {preset: tiny, warm_start: runs/base}\nadapter: "


def test_an_adapter_is_told_as_those_of_other_tools():
    whole = told(KIND, ON_A_RUN + "{rank: 8, quantize_base: nf4, dora: true, targets: [q_proj]}\n")
    names = ("adapter", "lora_rank", "lora_alpha", "lora_targets", "dora", "quantization_bits")
    assert values(whole, *names) == ("qlora", 8, 8.0, ["q_proj"], True, 4)
    assert whole.value("frozen_embeddings") is True
    assert whole.setting("lora_alpha").origin == "default"
    assert values(told(KIND, PAIRS + "model: {preset: tiny}\n"), "adapter", "from_scratch") == (None, True)


@pytest.mark.parametrize(
    ("adapter", "codes"),
    [
        ("{rank: 256, rslora: true, alpha: 256}", {"M104"}),
        ("{rank: 256, rslora: true}", set()),
        ("{rank: 16, alpha: 512}", {"M104"}),
        ("{rank: 16, targets: [q_proj, v_proj]}", {"M103"}),
        ("{rank: 16, embeddings: train}", set()),
    ],
)
def test_rules_for_adapters_of_others_read_that_of_a_recipe(adapter, codes, tmp_path):
    from trimtab.checks.check import check

    (tmp_path / "recipe.yaml").write_text(ON_A_RUN + adapter + "\n", encoding="utf-8")
    found = [each.finding for each in check(tmp_path / "recipe.yaml").diagnoses]
    assert {each.code for each in found if each.code.startswith("M1")} == codes
    assert all("adapter.targets" in str(each.fix) for each in found if each.code == "M103")


@pytest.mark.parametrize(
    ("adapter", "codes"),
    [("{rank: 16, alpha: 512, targets: [q_proj]}", {"M103", "M104"}), ("{rank: 16}", set())],
)
def test_rules_for_adapters_read_those_on_modules_of_transformers(adapter, codes, tmp_path):
    from tests.module_folder import module_folder
    from trimtab.checks.check import check

    module_folder(tmp_path / "base", "marian")
    model = "model: {kind: pretrained, path: base}\n"
    text = PAIRS.replace("data: {", "data: {max_tokens: 60, ") + model + f"adapter: {adapter}\n"
    (tmp_path / "recipe.yaml").write_text(text, encoding="utf-8")
    found = [each.finding for each in check(tmp_path / "recipe.yaml").diagnoses]
    assert {each.code for each in found if each.code.startswith("M1")} == codes
