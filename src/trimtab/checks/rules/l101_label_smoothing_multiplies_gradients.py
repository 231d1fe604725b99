"""L101 label-smoothing-multiplies-gradients"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer, Measured
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule
from trimtab.finding import Severity

_FIRST, _MENDED = (4, 46), (5, 15)
_ALL_HEADS = (5,)
"""From here on every head takes the keyword arguments that switch the division off."""
_IMAGE_TO_TEXT = frozenset({"trocr", "vision-encoder-decoder"})
_ARGS = (
    '{{"output_dir": "out", "per_device_train_batch_size": 8, "gradient_accumulation_steps": '
    '{accumulation},\n "label_smoothing_factor": 0.1}}'
)

RULE = Rule(
    code="L101",
    name="label-smoothing-multiplies-gradients",
    severity="error",
    message="in transformers {version} label smoothing with {accumulation} accumulation steps makes "
    "gradients about {accumulation} times as large",
    why="The Trainer leaves the division by the accumulation steps to the loss, but the label smoother of "
    "these releases takes the mean of each micro-batch. Clipping then bites at every step, and without it "
    "the step is too large. In 4.46 to 4.57 this concerns models whose forward takes extra keyword "
    "arguments (most decoders, TrOCR); from 5.0 on all language-model heads.",
    evidence=(
        Measured(
            "label_smoothing_explodes",
            "8 micro-batches in place of one multiply the smoothed gradient by 8.00 with Llama and with ViT+TrOCR in "
            "transformers 4.46.3, 4.57.6 and 5.14.1; by 1.00 in 4.45.2, 5.15.0 and 5.24.0.",
        ),
        Maintainer(
            "https://github.com/huggingface/transformers/pull/47261",
            "'inflates gradients by ~gradient_accumulation_steps for any model whose forward accepts loss "
            "kwargs'; the ratio of gradient norms at 8 steps goes from about 9 to about 1.0. The releases "
            "4.46.0 to 5.14.1 lack the change, 5.15.0 has it.",
        ),
        Maintainer(
            "https://github.com/huggingface/transformers/issues/46731",
            "The report, with a script that reproduces it on the CPU.",
        ),
    ),
    fix=Fix(
        "install transformers 5.15 or newer; else set `gradient_accumulation_steps: 1` or "
        "`label_smoothing_factor: 0`"
    ),
    bad=Example("args.json", _ARGS.format(accumulation=8), versions="transformers=5.14.0"),
    good=Example("args.json", _ARGS.format(accumulation=8), versions="transformers=5.24.0"),
    aliases=("ACC002",),
    tips=("S0-58", "S0-97"),
    symptoms=("label smoothing explodes", "gradient norm is huge", "diverged", "every step is clipped"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires in the releases between the change that lost the division and the one that fixed it."""
    smoothing, accumulation = run.setting("label_smoothing"), run.value("accumulation")
    version = run.version("transformers")
    if run.tool not in ("transformers", "llamafactory") or smoothing is None or accumulation is None:
        return
    if version is None or not _FIRST <= version < _MENDED or smoothing.value <= 0 or accumulation <= 1:
        return
    severity = _severity(run, version)
    if severity is not None:
        text = ".".join(map(str, version))
        yield RULE.at(smoothing, severity=severity, version=text, accumulation=accumulation)


def _severity(run: Description, version: tuple[int, ...]) -> Severity | None:
    """An error where the forward is known to take the arguments, a warning where the model is not known."""
    if (
        version >= _ALL_HEADS
        or run.value("model_family") in _IMAGE_TO_TEXT
        or run.value("task") == "vision_text"
    ):
        return "error"
    is_encoder_decoder = run.value("encoder_decoder")
    return None if is_encoder_decoder else "warning"
