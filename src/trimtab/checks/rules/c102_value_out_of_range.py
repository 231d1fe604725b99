"""C102 value-out-of-range"""

import math
from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.keytable import Key
from trimtab.checks.record import record
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule
from trimtab.checks.setting import Setting

RULE = Rule(
    code="C102",
    name="value-out-of-range",
    severity="error",
    message="{key} is {value}, but it must be {bound}",
    why="Most trainers do not check ranges: they start, and then divide by zero, diverge, or train "
    "something else. TrainingArguments silently accepts a negative learning rate and a beta2 of 1.5.",
    evidence=(
        Arithmetic(
            "A running mean b * m + (1 - b) * g with b >= 1 does not forget and grows or changes sign; a "
            "share above 1 or below 0 is none; a batch or an accumulation below 1 is no batch."
        ),
        Maintainer(
            "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/training_args.py",
            "_validate_args tests strategies, steps and warm-up; it tests no learning rate, beta, epsilon, "
            "label smoothing, batch or accumulation.",
        ),
    ),
    fix=Fix("set `{key}` to a value that is {bound}"),
    bad=Example(
        "args.json",
        '{"output_dir": "out", "per_device_train_batch_size": 8, "label_smoothing_factor": 1.5, '
        '"adam_beta2": 0.98}',
    ),
    good=Example(
        "args.json",
        '{"output_dir": "out", "per_device_train_batch_size": 8, "label_smoothing_factor": 0.1, '
        '"adam_beta2": 0.98}',
    ),
    aliases=("TT802",),
    symptoms=("loss is NaN", "diverged", "division by zero"),
)


@record
class _Bound:
    low: int | float = -math.inf
    high: int | float = math.inf
    has_low: bool = True
    """Whether the lower bound itself is allowed."""
    has_high: bool = True

    def holds(self, value: int | float) -> bool:
        above = value >= self.low if self.has_low else value > self.low
        below = value <= self.high if self.has_high else value < self.high
        return above and below

    def __str__(self) -> str:
        low = f"{'at least' if self.has_low else 'above'} {self.low:g}" if self.low > -math.inf else ""
        high = f"{'at most' if self.has_high else 'below'} {self.high:g}" if self.high < math.inf else ""
        return " and ".join(part for part in (low, high) if part)


_SHARE = _Bound(0, 1)
_LESS_THAN_ALL = _Bound(0, 1, has_high=False)
_POSITIVE = _Bound(0, has_low=False)
_NOT_NEGATIVE = _Bound(0)
_COUNT = _Bound(1)

_CONCEPTS = {
    "learning_rate": _NOT_NEGATIVE,
    "weight_decay": _NOT_NEGATIVE,
    "beta1": _LESS_THAN_ALL,
    "beta2": _LESS_THAN_ALL,
    "epsilon": _NOT_NEGATIVE,
    "clip": _NOT_NEGATIVE,
    "warmup_steps": _NOT_NEGATIVE,
    "warmup_ratio": _SHARE,
    "dropout": _LESS_THAN_ALL,
    "attention_dropout": _LESS_THAN_ALL,
    "label_smoothing": _LESS_THAN_ALL,
    "lora_dropout": _LESS_THAN_ALL,
    "lora_rank": _COUNT,
    "lora_alpha": _POSITIVE,
    "micro_batch": _COUNT,
    "accumulation": _COUNT,
    "steps": _COUNT,
    "beam": _COUNT,
    "repetition_penalty": _POSITIVE,
}
"""Ranges that hold in every tool, by what the words mean."""


def check(run: Description) -> Iterator[Diagnosis]:
    """A range of the tool's own first, then the one that the meaning gives."""
    reported: set[str] = set()
    for setting, bound in (*_by_table(run), *_by_meaning(run)):
        value = setting.value
        if isinstance(value, bool) or not isinstance(value, int | float) or setting.key in reported:
            continue
        if value <= 0 and _is_from_elsewhere(run, setting):
            continue  # an option that is off until somebody gives one: `if args.clip > 0`
        if not bound.holds(value):
            reported.add(setting.key)
            yield RULE.at(setting, value=f"{value:g}", bound=str(bound))


def _is_from_elsewhere(run: Description, setting: Setting) -> bool:
    """Whether a script takes the number from an option or a variable, and does not write it in the call."""
    if setting.is_option or run.document.syntax != "python":
        return setting.is_option
    lines = run.document.text.splitlines()[
        setting.place.line - 1 : max(setting.place.line, setting.place.end_line)
    ]
    return not any(str(setting.parsed) in line or str(setting.raw or "\0") in line for line in lines)


def _by_table(run: Description) -> Iterator[tuple[Setting, _Bound]]:
    for setting in run.keys.values() if run.table is not None else ():
        key = run.table.key(setting.key) if run.table is not None else None
        if key is not None:
            yield setting, _bound(key)


def _bound(key: Key) -> _Bound:
    low = key.minimum if key.above is None else key.above
    high = key.maximum if key.below is None else key.below
    return _Bound(
        -math.inf if low is None else low,
        math.inf if high is None else high,
        has_low=key.above is None,
        has_high=key.below is None,
    )


def _by_meaning(run: Description) -> Iterator[tuple[Setting, _Bound]]:
    for concept, bound in _CONCEPTS.items():
        setting = run.setting(concept)
        if setting is not None and setting.is_written:
            yield setting, bound
