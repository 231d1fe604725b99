"""Optimizer, learning rate, warm-up and clipping of TrainingArguments."""

from dataclasses import replace
from typing import Any, cast

from trimtab.checks.description import Version
from trimtab.checks.kinds.concept_map import Concepts, as_type, put, put_each
from trimtab.checks.kinds.optimizer_names import ADAM_LIKE, OptimizerName, take_apart
from trimtab.checks.kinds.written import Written
from trimtab.checks.setting import Setting

_KAHAN_BY_ITSELF = ("stable_adamw",)
_NO_ROUNDING = frozenset(
    {
        "adamw", "adam", "adafactor", "sgd", "adagrad", "rmsprop", "lion", "ademamix", "galore", "apollo",
        "schedule_free", "grokadamw",
    }
)  # fmt: skip


def put_optimizer(concepts: Concepts, written: Written) -> None:
    """Tells the optimizer with its own arguments."""
    put_each(concepts, written, {"learning_rate": "learning_rate", "weight_decay": "weight_decay"})
    setting = _chosen(written)
    name = take_apart(setting.value) if setting and isinstance(setting.value, str) else None
    if setting is not None and name is not None:
        _put_name(concepts, setting, name)
        _put_arguments(concepts, written, setting, name)
    elif setting is None:
        _put_default(concepts, written)
    if name is None or name.kind in ADAM_LIKE:
        put_each(concepts, written, {"beta1": "adam_beta1", "beta2": "adam_beta2", "epsilon": "adam_epsilon"})
    clip = written.get("max_grad_norm")
    # None and what is not positive turn clipping off.
    number = 0.0 if clip is not None and clip.value is None else as_type(clip.value if clip else None, float)
    put(concepts, "clip", clip, None if number is None else max(0.0, number))


def put_schedule(concepts: Concepts, written: Written, version: Version | None) -> None:
    """Tells the schedule and its warm-up: steps, or from version 5 on a share of the length in the same key."""
    put(concepts, "schedule", written.get("lr_scheduler_type"))
    steps, ratio = written.get("warmup_steps"), written.get("warmup_ratio")
    number = as_type(steps.value, float) if steps else None
    share = as_type(ratio.value, float) if ratio else None
    if version is not None and version < (5,):
        if number and number > 0:
            put(concepts, "warmup_steps", steps)
        elif number is not None and share is not None:
            _put_share(concepts, ratio, share, steps)
    elif ratio is not None and ratio.is_written and share is not None:
        # Version 5 takes the ratio where both are written; which version it is may be unknown.
        if version is not None or not (steps and steps.is_written):
            _put_share(concepts, ratio, share, ratio)
    elif number is not None and "warmup_ratio" not in written.hidden:
        _put_share(concepts, steps, number, steps)


def parsed_arguments(value: Any) -> dict[str, Any]:
    """`optim_args`: `beta2=0.95,eps=1e-6` or a mapping."""
    if isinstance(value, dict):
        return {str(key): inner for key, inner in cast("dict[object, Any]", value).items()}
    if not isinstance(value, str):
        return {}
    pairs = (part.partition("=") for part in value.replace(" ", "").split(","))
    return {key: inner for key, equals, inner in pairs if equals}


def says_yes(value: Any) -> bool | None:
    """A boolean of `optim_args`, where all is text."""
    if isinstance(value, bool):
        return value
    words = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
    return words.get(str(value).lower())


def _chosen(written: Written) -> Setting | None:
    old = written.settings.get("adafactor")
    if old is not None and old.value is True:
        return replace(old, value="adafactor")
    return written.get("optim")


def _put_name(concepts: Concepts, setting: Setting, name: OptimizerName) -> None:
    put(concepts, "optimizer", setting, name.kind)
    put(concepts, "optimizer_variant", setting)
    put(concepts, "optimizer_bits", setting, name.bits)
    put(concepts, "optimizer_paged", setting, name.is_paged)


def _put_default(concepts: Concepts, written: Written) -> None:
    """Which AdamW the default is hangs on versions of transformers and torch; that it is AdamW does not."""
    setting = written.set_default("optim", "adamw", unless=("adafactor",))
    if setting is not None:
        put(concepts, "optimizer", setting)
        _put_arguments(concepts, written, setting, OptimizerName("adamw"))


def _put_arguments(concepts: Concepts, written: Written, setting: Setting, name: OptimizerName) -> None:
    given = written.get("optim_args")
    if given is None:
        return
    arguments = parsed_arguments(given.value)
    where = given if arguments else setting
    if setting.value in ("adamw_torch_8bit", "adamw_torch_4bit"):
        put(concepts, "stochastic_rounding", where, says_yes(arguments.get("bf16_stochastic_round", False)))
    elif setting.value == "adamw_anyprecision":
        put(concepts, "stochastic_rounding", where, says_yes(arguments.get("use_kahan_summation", False)))
    elif setting.value in _KAHAN_BY_ITSELF:
        put(concepts, "stochastic_rounding", where, says_yes(arguments.get("kahan_sum", True)))
    elif name.kind in _NO_ROUNDING:
        put(concepts, "stochastic_rounding", setting, False)
    if name.kind == "adafactor":
        # The Trainer sets both itself and never reads `optim_args` for it.
        for concept in ("relative_step", "scale_parameter"):
            put(concepts, concept, setting, False)
        put(concepts, "clip_threshold", setting, 1.0)


def _put_share(concepts: Concepts, setting: Setting | None, number: float, none: Setting | None) -> None:
    if 0 < number < 1:
        put(concepts, "warmup_ratio", setting, number)
    elif number >= 1:
        put(concepts, "warmup_steps", setting, int(number) if number < 1e15 else None)
    elif number == 0:
        put(concepts, "warmup_steps", none, 0)
