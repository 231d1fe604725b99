"""S102 schedule-of-another-length"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.document import Entry
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.place import Place
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="S102",
    name="schedule-of-another-length",
    severity="warning",
    message="the schedule ends after {horizon:,} steps, but the run takes {steps:,} optimizer steps{why_so}",
    why="A schedule counts optimizer steps. Counted in micro-batches, or for another length, the rate is "
    "still high when the run ends, or is 0 long before.",
    evidence=(
        Arithmetic(
            "With accumulation a, a run of n micro-batches takes n / a steps: a linear decay over n has come "
            "down by 1 / a only."
        ),
        Maintainer(
            "https://github.com/huggingface/accelerate/issues/2926",
            "On several processes a prepared schedule is stepped once a process, so that it ends early.",
            opened=False,
        ),
    ),
    fix=Fix("set the schedule's length to {steps:,}"),
    bad=Example(
        "train.py",
        "from transformers import Trainer, TrainingArguments, get_linear_schedule_with_warmup\n\nargs = "
        "TrainingArguments(output_dir='out', max_steps=1000, gradient_accumulation_steps=8)\nschedule = "
        "get_linear_schedule_with_warmup(optimizer, num_warmup_steps=100, "
        "num_training_steps=8000)\nTrainer(model=model, args=args, optimizers=(optimizer, "
        "schedule)).train()\n",
    ),
    good=Example(
        "train.py",
        "from transformers import Trainer, TrainingArguments, get_linear_schedule_with_warmup\n\nargs = "
        "TrainingArguments(output_dir='out', max_steps=1000, gradient_accumulation_steps=8)\nschedule = "
        "get_linear_schedule_with_warmup(optimizer, num_warmup_steps=100, "
        "num_training_steps=1000)\nTrainer(model=model, args=args, optimizers=(optimizer, "
        "schedule)).train()\n",
    ),
    aliases=("SCHED002",),
    tips=("S0-113",),
    symptoms=("learning rate reaches 0 early", "learning rate does not come down", "loss falls slowly"),
)

_HORIZONS = ("num_training_steps", "total_steps", "total_num_steps")
_KEYS = ("scheduler.params.total_num_steps", "lr_scheduler_kwargs.num_training_steps")


def check(run: Description) -> Iterator[Diagnosis]:
    """Where both lengths are literal numbers: schedules of a script, and DeepSpeed's beside the run that uses it."""
    steps, accumulation = run.value("steps"), run.value("accumulation")
    for other in run.nearby if steps is None else ():
        steps, accumulation = other.value("steps"), other.value("accumulation")
        if steps is not None:
            break
    if steps is None or steps <= 0:
        return
    for horizon, place in _horizons(run):
        if horizon == steps:
            continue
        is_micro = accumulation is not None and accumulation > 1 and horizon == steps * accumulation
        why_so = f": it counts micro-batches, {accumulation} of which make a step" if is_micro else ""
        severity = "error" if is_micro else None
        yield RULE.at(place, severity=severity, horizon=horizon, steps=steps, why_so=why_so)


def _horizons(run: Description) -> Iterator[tuple[int, Place]]:
    for key in _KEYS:
        setting = run.written(key)
        is_length = setting is not None and setting.origin == "file" and type(setting.value) is int
        if setting is not None and is_length and run.setting("steps") is not setting and setting.value > 0:
            yield setting.value, setting.place
    for call in run.document.calls:
        for name in _HORIZONS:
            entry: Entry | None = call.arguments.get(name)
            if entry is not None and type(entry.value) is int and entry.value > 0:
                yield entry.value, entry.place
