"""S155 accumulation-that-is-not-set"""

from collections.abc import Iterator

from trimtab.checks.code_text import says
from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.read.flow.accelerators import accelerators, is_accelerator
from trimtab.checks.read.flow.loops import Loop, training_loops
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import OPTIMIZERS, is_known_schedule, options
from trimtab.checks.read.flow.values import Event, Flow, Value, walk
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "from accelerate import Accelerator\n{size}accelerator = Accelerator({given})\n"
    "model, optimizer, loader = accelerator.prepare(model, optimizer, loader)\nfor batch in loader:\n"
    "    with accelerator.accumulate(model):\n        accelerator.backward(model(**batch).loss)\n"
    "        optimizer.step()\n        optimizer.zero_grad()\n"
)
_SIZE = "gradient_accumulation_steps = 8\n"

RULE = Rule(
    code="S155",
    name="accumulation-that-is-not-set",
    severity="warning",
    message="{fault}: the optimizer steps with every batch",
    why="Accelerate accumulates where two things meet: an `Accelerator` made with `gradient_accumulation_steps`, and a "
    "loop under `accelerator.accumulate(model)`. With one of them alone `sync_gradients` is always true, "
    "every batch is "
    "a step, and the batch is smaller than the script says; a schedule made for the larger one ends late.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/accelerate/blob/v1.15.0/src/accelerate/accelerator.py",
            "'gradient_accumulation_steps (default to 1) ... A number > 1 should be combined with "
            "`Accelerator.accumulate`', "
            "which alone sets `sync_gradients`.",
        ),
        Maintainer(
            "https://github.com/huggingface/diffusers/pull/308",
            "A published example that never accumulated for the first of the two reasons.",
        ),
    ),
    fix=Fix("{way}"),
    bad=Example("train.py", _SCRIPT.format(size=_SIZE, given="")),
    good=Example(
        "train.py",
        _SCRIPT.format(size=_SIZE, given="gradient_accumulation_steps=gradient_accumulation_steps"),
    ),
    symptoms=(
        "gradient accumulation has no effect",
        "more optimizer steps than expected",
    ),
)
_SETS = ("gradient_accumulation_steps", "gradient_accumulation_plugin")


def check(run: Description) -> Iterator[Diagnosis]:
    """`accumulate` with an Accelerator that is made for one step, in a script that speaks of more; and a script that
    asks `sync_gradients` without ever accumulating."""
    flow = flow_of(run.document)
    if not run.document.imports & _COUNTING:
        yield from _divided(flow)
    if not says(run.document, "gradient_accumulation_steps") or "accelerate" not in run.document.imports:
        return
    accumulated = [event for event in flow.named("accumulate") if is_accelerator(event.subject)]
    made = accelerators(run.document)
    is_default = (
        len(made) == 1 and len(made[0].args) < 4 and not any(name in made[0].keywords for name in _SETS)
    )
    if accumulated and is_default and not _is_set_later(flow, made[0]) and made[0].place is not None:
        yield RULE.at(
            made[0].place,
            fault="`Accelerator` is made without `gradient_accumulation_steps`",
            way="give `Accelerator` the `gradient_accumulation_steps`",
        )
        return
    for event in accumulated if len(made) == 1 else ():
        step = _stepped_unprepared(flow, event)
        if step is not None:
            yield RULE.at(
                step.place,
                fault="the optimizer was not given to `accelerator.prepare`",
                way="give `prepare` the optimizer as well",
            )
            return
    if accumulated or says(run.document, "no_sync", "GradientAccumulationPlugin") or not flow.is_whole:
        return
    for loop in training_loops(flow):
        asked = [
            event for event in loop.events if any(_asks(block.value) for block in event.below(loop.block))
        ]
        if asked and is_accelerator(loop.backward.subject):
            yield RULE.at(
                asked[0].place,
                fault="`sync_gradients` is asked, but nothing runs under `accelerator.accumulate`",
                way="put the body of the loop under `with accelerator.accumulate(model):`",
            )
            return


_COUNTING = frozenset(
    {"accelerate", "deepspeed", "lightning", "pytorch_lightning", "fabric", "transformers_neuronx"}
)


def _divided(flow: Flow) -> Iterator[Diagnosis]:
    """A loss that is divided by the micro-batches of a step, in a loop whose every turn clears and steps."""
    for loop in training_loops(flow) if flow.is_whole else ():
        steps, clears = list(loop.steps()), list(loop.called("zero_grad"))
        is_each = (
            bool(steps) and bool(clears) and all(_is_unconditional(loop, each) for each in (*steps, *clears))
        )
        if is_each and any(_is_share(each) for each in options(loop.backward.subject)):
            yield RULE.at(
                steps[0].place,
                fault="the loss is divided by the number of micro-batches in a step",
                way="step and clear only after that many batches, or do not divide the loss",
            )
            return


def _is_unconditional(loop: Loop, event: Event) -> bool:
    return all(block.kind == "with" for block in event.below(loop.block))


def _is_share(loss: Value) -> bool:
    """Whether a loss is divided by what is named after accumulation, more than one."""
    if loss.made != "binary" or loss.name != "/" or len(loss.args) != 2:
        return False
    count = loss.args[1]
    key = count.args[0].constant if count.made == "item" and count.args else None
    name = key if isinstance(key, str) else count.label or count.name
    return "accum" in name.lower() and count.constant != 1


def _stepped_unprepared(flow: Flow, accumulate: Event) -> Event | None:
    """A step under `accumulate` of an optimizer that is seen to be made, and that nothing is given but schedules."""
    for event in flow.named("step"):
        made = event.subject
        is_inside = any(each is accumulate.value for block in event.path for each in block.contexts)
        if not is_inside or made is None or made.made != "call" or made.last not in OPTIMIZERS:
            continue
        given = [
            each
            for each in flow.each("call")
            if any(
                one is made
                for value in (*each.value.args, *each.value.keywords.values())
                for one in walk(value, most=6)
            )
        ]
        if all(is_known_schedule(each.value) for each in given):
            return event
    return None


def _asks(value: Value | None) -> bool:
    return any(each.made == "attribute" and each.name == "sync_gradients" for each in walk(value, most=40))


def _is_set_later(flow: Flow, accelerator: Value) -> bool:
    return any(event.subject is accelerator for event in flow.sets("gradient_accumulation_steps"))
