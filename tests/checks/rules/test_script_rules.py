from tests.checks.rules.findings import findings, of_example
from tests.for_each import for_each
from trimtab.checks.rules import p301_benchmark_without_convolutions as p301
from trimtab.checks.rules import p302_gradients_kept_as_zeros as p302
from trimtab.checks.rules import p303_copy_that_waits as p303
from trimtab.checks.rules import p304_clipping_of_scaled_gradients as p304
from trimtab.checks.rules import x105_half_precision_for_the_cpu as x105


def test_the_flag_is_found_in_its_line():
    (found,) = findings(p301, p301.RULE.bad.file, p301.RULE.bad.text)
    assert (found.place.line, found.place.column) == (3, 1)


@for_each(
    "pair",
    [
        ("import torch\n", "import torch\nimport timm\n"),
        ("= True", "= False"),
        ("AutoModelForCausalLM", "AutoModelForVision2Seq"),
        ("model = ", "front = torch.nn.Conv1d(1, 2, 3)\nmodel = "),
    ],
)
def test_convolutions_and_pictures_keep_the_flag(pair):
    assert of_example(p301, pair) == []


def test_zeros_are_kept_where_they_are_asked_for_only():
    assert of_example(p302, ("set_to_none=False", "set_to_none=True")) == []
    assert of_example(p302, ("set_to_none=False", "set_to_none=keep")) == []


@for_each(
    "pair",
    [
        ("num_workers=4", "num_workers=4, pin_memory=pin"),
        ("num_workers=4", "**options"),
        ("non_blocking=True", "non_blocking=False"),
        ("batch = batch.to", "batch = batch.pin_memory().to"),
    ],
)
def test_memory_that_may_be_pinned_is_left_alone(pair):
    assert of_example(p303) == ["warning"]
    assert of_example(p303, pair) == []


@for_each(
    "pair",
    [
        ("GradScaler()", "GradScaler(enabled=False)"),
        ("GradScaler()", "GradScaler(**options)"),
        ("scaler = torch.amp.GradScaler()", "from accelerate import Accelerator\nfrom mine import scaler"),
        ("    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n", ""),
    ],
)
def test_a_scaler_that_is_off_or_anothers_is_left_alone(pair):
    assert of_example(p304) == ["error"]
    assert of_example(p304, pair) == []


def test_a_session_that_may_use_a_gpu_is_left_alone():
    assert of_example(x105) == ["note"]
    assert of_example(x105, ('["CPUExecutionProvider"]', "providers")) == []
