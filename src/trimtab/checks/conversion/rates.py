"""Optimizers and schedules of other tools in the words of the recipe."""

import math

from trimtab.checks.conversion.draft import Draft, number, scalar

OPTIMIZERS = {"adamw": "adamw", "adam": "adamw", "adafactor": "adafactor", "lion": "lion", "sgd": "sgd"}
FALLS_TO = frozenset({"cosine", "warmup_stable_decay"})
"""Schedules with a `floor`."""
HIGHEST = {"sgd": 100.0}
"""Largest rate that a recipe allows, where it is not 10."""
SCHEDULES = {
    "linear": "linear_warmup",
    "polynomial": "linear_warmup",
    "linear_warmup": "linear_warmup",
    "cosine": "cosine",
    "cosine_with_min_lr": "cosine",
    "constant": "constant",
    "constant_with_warmup": "constant",
    "inverse_sqrt": "inverse_sqrt",
    "rsqrt": "inverse_sqrt",
    "noam": "noam",
    "noamwd": "noam",
    "none": "constant",
    "one_cycle": "one_cycle",
    "warmup_stable_decay": "warmup_stable_decay",
    "exponential": "exponential",
}


def write_optimizer(draft: Draft) -> None:
    """Writes `optimizer`: AdamW for Adam, since the two differ only in how weights decay."""
    chosen, rate = draft.take("optimizer"), draft.take("learning_rate")
    draft.account(draft.run.setting("optimizer_variant"))
    name = chosen.value if chosen is not None else "adamw"
    kind = OPTIMIZERS.get(name)
    if kind is None:
        draft.note(
            f"the optimizer {name} has no counterpart; AdamW is used instead, and its learning rate must be tuned"
        )
    kind = kind or "adamw"
    if name == "adam" and draft.run.value("weight_decay"):
        draft.note(
            "Adam's weight decay works through the gradient; AdamW's does not, and may need another value"
        )
    parts = [f"kind: {kind}"]
    value = _rate(draft, kind)
    if value is not None:
        parts.append(f"learning_rate: {number(value)}")
    betas = [draft.value("beta1"), draft.value("beta2")]
    if kind in ("adamw", "lion") and all(beta is not None and 0 <= beta < 1 for beta in betas):
        parts.append(f"betas: {scalar(betas)}")
    epsilon = draft.value("epsilon")
    if kind == "adamw" and epsilon is not None and 0 < epsilon <= 1:
        parts.append(f"eps: {number(epsilon)}")
    if kind == "sgd":
        parts.append("momentum: 0.0")
    decay = draft.value("weight_decay")
    if decay is not None and 0 <= decay <= 10:
        parts.append(f"weight_decay: {number(decay)}")
    if multipliers := _multipliers(draft, value):
        parts.append(f"learning_rate_multipliers: {{{', '.join(multipliers)}}}")
    sources = ", ".join(dict.fromkeys(text for text in map(draft.origin, (chosen, rate)) if text))
    draft.say(f"optimizer: {{{', '.join(parts)}}}", level=1, comment=sources)


def _multipliers(draft: Draft, rate: float | None) -> list[str]:
    """Factors on the learning rate of some weights: LoRA+'s, and that of embeddings with a rate of their own."""
    found: list[str] = []
    ratio = draft.key("loraplus_lr_ratio")
    if ratio is not None and _is_factor(ratio.value):
        draft.key("loraplus_lr_embedding")
        found.append(f"lora_b: {number(ratio.value)}")
    own = draft.key("embedding_lr")
    if own is not None and rate and isinstance(own.value, int | float) and _is_factor(own.value / rate):
        found.append(f"embedding: {number(own.value / rate)}")
    scale = draft.key("embedding_lr_scale")
    if scale is not None and own is None and _is_factor(scale.value):
        found.append(f"embedding: {number(scale.value)}")
    return found


def _is_factor(value: object) -> bool:
    """Whether a recipe takes it as one."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 1e-4 <= value <= 1e4


def write_schedule(draft: Draft) -> None:
    """Writes `schedule`, with the effective peak of a schedule that is given by a factor."""
    chosen = draft.take("schedule")
    name = chosen.value if chosen is not None else "constant"
    kind = SCHEDULES.get(name)
    if kind is None:
        draft.note(f"the schedule {name} has no counterpart; a linear decay is used instead")
        kind = "linear_warmup"
    comment = draft.origin(chosen)
    if kind == "noam":
        comment += f"; {noam_peak(draft)}"
    if name == "noamwd":
        draft.note("noamwd's additional decay by steps has no counterpart")
    if name == "rsqrt":
        rises = "" if draft.run.tool == "sockeye" else "; here the rate rises to it, there it begins with it"
        comment += f"; peak {_rsqrt_peak(draft)}{rises}"
    if name == "none":
        comment += _exponential(draft)
    warmup = _warmup(draft, kind) + (_floor(draft) if kind in FALLS_TO else "")
    draft.say(f"schedule: {{kind: {kind}{warmup}}}", level=1, comment=comment.lstrip("; "))


def _floor(draft: Draft) -> str:
    """The share of the highest rate that a run ends with, where one is written."""
    names = ("cosine_min_lr_ratio", "lr_scheduler_kwargs.min_lr_rate", "lr_scheduler_kwargs.min_lr_ratio")
    setting = draft.key(*names)
    if setting is not None and isinstance(setting.value, int | float) and 0 < setting.value < 1:
        return f", floor: {setting.value:g}"
    least, rate = draft.key("lr_scheduler_kwargs.min_lr"), draft.run.value("learning_rate")
    if least is not None and isinstance(least.value, int | float) and rate and 0 < least.value < rate:
        return f", floor: {least.value / rate:.4g}"
    return ""


def noam_peak(draft: Draft) -> str:
    """The highest rate of noam, with its formula: factor / sqrt(width * warm-up)."""
    factor, width, warmup = (
        draft.run.value(name) for name in ("learning_rate", "hidden_size", "warmup_steps")
    )
    if not factor or (width or 0) < 1 or (warmup or 0) < 1:
        return "the peak is learning_rate / sqrt(dim * warmup)"
    peak = factor / math.sqrt(width * warmup)
    return f"peak {peak:.3g} = {factor:g} / sqrt({width} * {warmup}), reached at step {warmup}"


def _rate(draft: Draft, kind: str) -> float | None:
    rate = draft.run.value("learning_rate")
    if rate is None:
        return None
    if draft.run.value("schedule") == "rsqrt":
        rate = rate / math.sqrt(max(1, _warmup_steps(draft)))
    if not 0 < rate <= HIGHEST.get(kind, 10.0):
        draft.note(
            f"the learning rate {rate:g} is outside what a recipe allows; the default is written instead"
        )
        return None
    return rate


def _rsqrt_peak(draft: Draft) -> str:
    rate, steps = draft.run.value("learning_rate"), max(1, _warmup_steps(draft))
    return f"{rate / math.sqrt(steps):.3g} = {rate:g} / sqrt({steps})" if rate else "rate / sqrt(warm-up)"


def _warmup_steps(draft: Draft) -> int:
    if draft.run.tool == "sockeye":
        return max(1, draft.run.value("warmup_steps") or 1)
    written = draft.run.keys.get("warmup_steps") or draft.run.keys.get("training.warmup_steps")
    value = written.value if written is not None else draft.run.value("warmup_steps")
    return value if isinstance(value, int) and value > 0 else 4000


def _exponential(draft: Draft) -> str:
    keys = draft.run.keys
    start = keys.get("start_decay_steps") or keys.get("training.start_decay_steps")
    first = start.value if start is not None and isinstance(start.value, int) else 50_000
    steps = draft.run.value("steps")
    if steps is None or steps <= first:
        return ""
    return f"; there the rate is cut again and again after step {first}, which has no counterpart"


def _warmup(draft: Draft, kind: str) -> str:
    """`, warmup: N steps`, or a share of the length; nothing if there is none to write."""
    if kind == "one_cycle":
        return ""
    length, steps = draft.run.value("steps"), draft.value("warmup_steps")
    share = draft.value("warmup_ratio")
    if draft.run.value("schedule") == "rsqrt":
        draft.key("warmup_steps", "training.warmup_steps")
        steps = _warmup_steps(draft)
    epochs = draft.run.value("epochs") if length is None else None
    if steps is None and share and length:
        steps = round(share * length)
    if not steps and share and epochs and 0 < share < 1:
        return f", warmup: {share * epochs:.4g} epochs"
    if not steps:
        # All but a constant rate have a warm-up by default; one step is as good as none.
        return "" if kind == "constant" or not (length or epochs) else ", warmup: 1 steps"
    if length is not None and steps > length:
        shorter = max(1, length // 20)
        draft.note(
            f"the warm-up of {steps} steps was longer than the run of {length}; it is written as {shorter}, so that "
            "the rate reaches its peak at all"
        )
        steps = shorter
    return f", warmup: {steps} steps"
