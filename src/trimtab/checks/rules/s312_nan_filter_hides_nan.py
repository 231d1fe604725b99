"""S312 nan-filter-hides-nan"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.half_precision import OVERFLOWING
from trimtab.checks.own_key import own
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="S312",
    name="nan-filter-hides-nan",
    severity="note",
    message="a NaN loss is not logged: the Trainer logs the average of the previous losses instead{because}",
    why="`logging_nan_inf_filter` is on by default. A run whose loss is NaN from the first step on logs 0.0, "
    "looks perfect and has NaN weights in the end. Where NaN is to be expected, or something reads the logged "
    "loss to stop the run, it has to be seen.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/trainer.py",
            '"if loss is nan or inf simply add the average of previous logged losses".',
        ),
        Maintainer(
            "https://github.com/huggingface/trl/issues/6702",
            "'The reported loss curve stays finite and plausible while the step that produced it was NaN'.",
        ),
    ),
    fix=Fix("set `logging_nan_inf_filter: false`", safety="same training"),
    bad=Example(
        "args.json",
        '{"model_name_or_path": "google/flan-t5-base", "output_dir": "out", '
        '"per_device_train_batch_size": 8, "fp16": true}',
    ),
    good=Example(
        "args.json",
        '{"model_name_or_path": "google/flan-t5-base", "output_dir": "out", "per_device_train_batch_size": 8, '
        '"fp16": true, "logging_nan_inf_filter": false}',
    ),
    aliases=("TT805",),
    symptoms=("loss zero", "loss is 0.0", "loss is NaN", "model outputs nothing"),
)

_OF_HUGGING_FACE = ("transformers", "trl", "llamafactory", "axolotl")


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where a watchdog reads the logged loss, and in fp16 for the families that overflow in it."""
    watchdog = own(run, "loss_watchdog_threshold") if run.tool == "axolotl" else None
    if watchdog is not None and watchdog.value:
        yield RULE.at(
            watchdog, because=", and the watchdog compares that with its threshold: it cannot see a NaN"
        )
        return
    filtered, autocast = run.setting("nan_filter"), run.setting("autocast")
    if run.tool not in _OF_HUGGING_FACE or filtered is None or filtered.value is not True:
        return
    name = OVERFLOWING.get(run.value("model_family") or "")
    if name is not None and autocast is not None and autocast.value == "fp16":
        because = f"; {name} can overflow in fp16"
        yield RULE.at(filtered if filtered.is_written else autocast, because=because)
