"""S102 schedule-of-another-length"""

from collections.abc import Iterator
from itertools import pairwise

from trimtab.checks.code_text import may_say, says
from trimtab.checks.description import Description
from trimtab.checks.document import UNKNOWN, Entry
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.listed import numbers
from trimtab.checks.place import Place
from trimtab.checks.read.flow.loops import is_step, training_loops
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import innermost_loop, is_known_schedule, is_schedule, root
from trimtab.checks.read.flow.values import Flow, Value, walk
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="S102",
    name="schedule-of-another-length",
    severity="warning",
    message="{fault}",
    why="A schedule counts optimizer steps. Counted in micro-batches, or for another length, the rate is "
    "still high when the run ends, or is 0 long before.",
    evidence=(
        Arithmetic(
            "With accumulation a, a run of n micro-batches takes n / a steps: a linear decay over n has come "
            "down by 1 / a only."
        ),
        Maintainer(
            "https://github.com/huggingface/transformers/pull/24088",
            "A schedule that Accelerate prepares and that counts the processes already is stepped "
            "'num_processes too fast'.",
        ),
    ),
    fix=Fix("{fix}"),
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
    symptoms=(
        "learning rate reaches 0 early",
        "learning rate does not come down",
        "loss falls slowly",
        "learning rate falls too fast",
        "scheduler is stepped too often",
        "learning rate is almost zero in the log",
        "learning rate reaches zero before the end of training",
    ),
)

_COUNTING = frozenset({"accelerate", "lightning", "pytorch_lightning", "deepspeed"})
_HORIZONS = ("num_training_steps", "total_steps", "total_num_steps")
_KEYS = ("scheduler.params.total_num_steps", "lr_scheduler_kwargs.num_training_steps")


def check(run: Description) -> Iterator[Diagnosis]:
    """Where both lengths are literal numbers: schedules of a script, and DeepSpeed's beside the run that uses it."""
    yield from _stepped_too_often(run)
    yield from _stepped_twice(run)
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
        fault = (
            f"the schedule ends after {horizon:,} steps, but the run takes {steps:,} optimizer steps{why_so}"
        )
        yield RULE.at(place, severity=severity, fault=fault, fix=f"set the schedule's length to {steps:,}")


def _stepped_too_often(run: Description) -> Iterator[Diagnosis]:
    """A loop that steps its optimizer every so many turns and its schedule in each; one whose length is counted in
    turns
    is right anyway, and the wrappers of Accelerate and Lightning count by themselves."""
    flow = flow_of(run.document)
    if run.document.imports & (_COUNTING - {"accelerate"}) or _accelerate_counts(run, flow):
        return
    prepared = [each for event in flow.named("prepare") for each in event.value.args]
    for loop in training_loops(flow):
        steps = list(loop.steps())
        if (
            not steps
            or not all(loop.is_within_period(step) for step in steps)
            or loop.is_within_period(loop.backward)
        ):
            continue
        for event in loop.schedule_steps():
            if loop.is_within_period(event) or any(event.path == step.path for step in steps):
                continue
            if event.path != loop.backward.path or counts_turns(event.subject):
                continue
            if any(each is event.subject for each in prepared):
                continue
            fault = "the schedule steps with every micro-batch, and the optimizer only when enough are accumulated"
            yield RULE.at(
                event.place, severity="error", fault=fault, fix="step the schedule where the optimizer steps"
            )
            return


def _accelerate_counts(run: Description, flow: Flow) -> bool:
    """Whether Accelerate knows of the accumulation, and steps with the optimizer alone."""
    return "accelerate" in run.document.imports and (
        any(True for _ in flow.named("accumulate")) or says(run.document, "gradient_accumulation_steps=")
    )


def _stepped_twice(run: Description) -> Iterator[Diagnosis]:
    """One schedule that is stepped in two places of one straight line in a loop, each turn."""
    flow = flow_of(run.document)
    steps = [event for event in flow.named("step") if is_schedule(event.subject) and not event.value.args]
    for first, second in pairwise(steps):
        loop = innermost_loop(first)
        if (
            loop is None
            or innermost_loop(second) is not loop
            or root(first.subject) is not root(second.subject)
        ):
            continue
        if first.path != second.path or first.place == second.place:
            continue
        between = flow.events[first.index + 1 : second.index]
        if first.path[-1] is loop and not any(is_step(event) for event in between):
            fault = "the schedule steps twice in each turn of the loop: it ends after half of the steps"
            yield RULE.at(second.place, severity="error", fault=fault, fix="leave one of the two out")
            return


def counts_turns(schedule: Value | None) -> bool:
    """Whether a schedule's length is written as a number of batches: `epochs * len(loader)`, not divided; also where
    nobody can see how it was made."""
    made = root(schedule)
    if made is None or not is_known_schedule(made):
        return True
    given = list(made.keywords.values()) + list(made.args[1:])
    parts = [each for value in given for each in walk(value)]
    counts = any(each.made == "call" and each.name == "len" for each in parts)
    is_divided = any(each.made == "binary" and each.name in ("/", "//") for each in parts)
    known = all(each.constant is not UNKNOWN for each in given if each.made != "function") or is_divided
    return (counts and not is_divided) or not known


def _horizons(run: Description) -> Iterator[tuple[int, Place]]:
    for key in _KEYS:
        setting = run.written(key)
        is_length = setting is not None and setting.origin == "file" and type(setting.value) is int
        if setting is not None and is_length and run.setting("steps") is not setting and setting.value > 0:
            yield setting.value, setting.place
    for key in ("total-num-update", "lr_scheduler.total_num_update") if run.tool == "fairseq" else ():
        setting = run.written(key)
        counts = numbers(setting.value) if setting is not None else []
        if setting is not None and counts and run.value("schedule") == "polynomial":
            yield int(counts[0]), setting.place
    for call in run.document.calls if may_say(run.document, *_HORIZONS) else ():
        for name in _HORIZONS:
            entry: Entry | None = call.arguments.get(name)
            if entry is not None and type(entry.value) is int and entry.value > 0:
                yield entry.value, entry.place
