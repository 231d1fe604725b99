"""S107 warmup-ignored"""

from collections.abc import Iterator

from trimtab.checks.combination import written
from trimtab.checks.description import Description
from trimtab.checks.edits import Edit, SetValue
from trimtab.checks.evidence import Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule
from trimtab.checks.setting import Setting

RULE = Rule(
    code="S107",
    name="warmup-ignored",
    severity="error",
    message="`{key}: {value}` is ignored: the schedule `{schedule}` has no warm-up",
    why="The schedule is made without the warm-up that the file asks for, so the first step is taken at the "
    "full rate, and nothing says so.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/optimization.py",
            "get_scheduler: for SchedulerType.CONSTANT it returns schedule_func(optimizer), before it looks "
            "at num_warmup_steps.",
        ),
        Maintainer(
            "https://github.com/OpenNMT/OpenNMT-py/blob/97111d9/onmt/utils/optimizers.py",
            "warmup_steps is read for noam, noamwd and rsqrt only; in Mammoth for linear_warmup and in Eole "
            "for cosine too.",
        ),
    ),
    fix=Fix("set `{place_of_it}: {wanted}`, or remove `{key}`"),
    bad=Example(
        "args.json",
        '{"output_dir": "out", "per_device_train_batch_size": 8, "lr_scheduler_type": "constant", '
        '"warmup_steps": 100}',
    ),
    good=Example(
        "args.json",
        '{"output_dir": "out", "per_device_train_batch_size": 8, "lr_scheduler_type": '
        '"constant_with_warmup", "warmup_steps": 100}',
    ),
    aliases=("SCHED001",),
    tips=("S1-07",),
    symptoms=("learning rate starts at its full value", "diverged after a few steps"),
)

_HUGGING_FACE = ("transformers", "trl", "llamafactory", "axolotl")
_OPENNMT = {
    "opennmt": ("", "noam"),
    "mammoth": ("", "linear_warmup"),
    "eole": ("training.", "cosine"),
}
"""Where the keys stand, and a decay method that rises first."""


def check(run: Description) -> Iterator[Diagnosis]:
    """A warm-up that is written beside a schedule that has none."""
    schedule = run.setting("schedule")
    if schedule is None:
        return
    if run.tool in _HUGGING_FACE and schedule.value == "constant" and schedule.is_written:
        warmup = _warmup(run, ("warmup_steps", "warmup_ratio"))
        if warmup is not None:
            yield _told(warmup, schedule.key, "constant", "constant_with_warmup", schedule)
    elif run.tool in _OPENNMT and schedule.value == "none":
        prefix, wanted = _OPENNMT[run.tool]
        warmup = _warmup(run, (f"{prefix}warmup_steps",))
        if warmup is not None:
            yield _told(warmup, f"{prefix}decay_method", "none", wanted, None)


def _warmup(run: Description, keys: tuple[str, ...]) -> Setting | None:
    """The first that is written and asks for a rise: a single step is none."""
    settings = (written(run, key) for key in keys)
    numbers = (each for each in settings if each is not None and isinstance(each.value, int | float))
    return next((each for each in numbers if each.value > 0 and each.value != 1), None)


def _told(warmup: Setting, key: str, schedule: str, wanted: str, mended: Setting | None) -> Diagnosis:
    edits: tuple[Edit, ...] = () if mended is None else (SetValue(mended.key, wanted),)
    return RULE.at(warmup, edits=edits, value=warmup.value, schedule=schedule, place_of_it=key, wanted=wanted)
