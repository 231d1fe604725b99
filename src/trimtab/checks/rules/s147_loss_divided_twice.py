"""S147 loss-divided-twice"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.document import UNKNOWN
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.read.flow.accelerators import accelerators, engine_accumulation, is_accelerator
from trimtab.checks.read.flow.loops import training_loops
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.periods import turn_of_event
from trimtab.checks.read.flow.values import Event, Value, walk
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nfrom accelerate import Accelerator\naccelerator = Accelerator(gradient_accumulation_steps=8)\n"
    "model, optimizer, loader = accelerator.prepare(model, optimizer, loader)\nfor batch in loader:\n"
    "    with accelerator.accumulate(model):\n        loss = model(**batch).loss\n"
    "        accelerator.backward(loss{division})\n        optimizer.step()\n        optimizer.zero_grad()\n"
)

RULE = Rule(
    code="S147",
    name="loss-divided-twice",
    severity="warning",
    message="the loss is divided by the accumulation here, and once more {other}: gradients are {size} times too small",
    why="`Accelerator.backward` divides each loss by the `gradient_accumulation_steps` that the Accelerator was made "
    "with. Divided by hand as well, the gradient shrinks with the accumulation: SGD steps that much less far, a "
    "clipping threshold is never met, and under fp16 more gradients are rounded to zero. Adam hides it, but for its "
    "epsilon.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/accelerate/blob/v1.15.0/src/accelerate/accelerator.py",
            "`backward`: `loss = loss / self.gradient_accumulation_steps`, with DeepSpeed it divides itself.",
        ),
        Arithmetic("Eight losses of 1.0: 8 * 1.0 / 8 / 8 = 0.125, where the mean is 1.0."),
    ),
    fix=Fix("divide once: {fix}"),
    bad=Example("train.py", _SCRIPT.format(division=" / 8")),
    good=Example("train.py", _SCRIPT.format(division="")),
    symptoms=("grad norm is too small", "loss falls slowly", "gradients vanish with accumulation"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """`accelerator.backward` of a quotient by the accumulation, where the one Accelerator is given one above 1."""
    yield from _by_hand(run)
    yield from _by_engine(run)
    made = accelerators(run.document)
    size = made[0].keywords.get("gradient_accumulation_steps") if len(made) == 1 else None
    if size is None or size.constant == 1:
        return
    for event in flow_of(run.document).named("backward"):
        loss = event.value.argument(0, "loss")
        if is_accelerator(event.subject) and loss is not None and _is_divided(loss, size):
            count = f"{size.constant}" if isinstance(size.constant, int) else "that many"
            where, fix = "by `accelerator.backward`", "give `accelerator.backward` the loss as it is"
            yield RULE.at(event.place, size=count, other=where, fix=fix)
            return


def _by_engine(run: Description) -> Iterator[Diagnosis]:
    """`engine.backward` of a quotient by the accumulation in the configuration that the script gives DeepSpeed."""
    flow = flow_of(run.document)
    size = engine_accumulation(flow)
    if size is None or size.constant == 1:
        return
    for event in flow.named("backward"):
        loss = event.value.argument(0, "loss")
        if loss is not None and loss.made == "binary" and _is_divided(loss, size):
            count = f"{size.constant}" if isinstance(size.constant, int) else "that many"
            where, fix = "by DeepSpeed's `backward`", "give `engine.backward` the loss as it is"
            yield RULE.at(event.place, size=count, other=where, fix=fix)
            return


def _by_hand(run: Description) -> Iterator[Diagnosis]:
    """A loss that is a quotient of a quotient by the same number, where both can be seen: in the loop and in the
    function that computes it."""
    for event in flow_of(run.document).named("backward"):
        loss = event.value.argument(0, "loss") if is_accelerator(event.subject) else event.subject
        if loss is not None and loss.made == "call" and loss.name == "scale" and loss.args:
            loss = loss.args[0]
        if loss is None or not _is_quotient(loss) or not _is_quotient(loss.args[0]):
            continue
        one, two = loss.args[1], loss.args[0].args[1]
        is_same = one is two or (one.constant is not UNKNOWN and one.constant == two.constant)
        is_count = type(one.constant) is int or all(_is_accumulation(each) for each in (one, two))
        if is_same and (is_count or _is_period(run, event, one)):
            where = "where it is computed"
            count = f"{one.constant}" if isinstance(one.constant, int) else "that many"
            yield RULE.at(
                event.place, size=count, other=where, fix="in the loop, or where the loss is computed"
            )
            return


def _is_accumulation(value: Value) -> bool:
    """Whether a value is called so, also as the key of a configuration: `config["train"]["accumulation"]`."""
    written = [value.label, value.name, *(str(each.constant) for each in value.args if value.made == "item")]
    return any("accum" in each.lower() for each in written)


def _is_period(run: Description, backward: Event, count: Value) -> bool:
    """Whether the optimizer steps once in so many turns."""
    for loop in training_loops(flow_of(run.document)):
        if loop.backward is backward:
            turns = [turn_of_event(step, loop.block) for step in loop.steps()]
            return any(turn is not None and turn.period is count for turn in turns)
    return False


def _is_quotient(value: Value) -> bool:
    return value.made == "binary" and value.name == "/" and len(value.args) == 2


def _is_divided(loss: Value, size: Value) -> bool:
    if loss.made != "binary" or loss.name != "/" or len(loss.args) != 2:
        return False
    divisor = loss.args[1]
    if isinstance(divisor.constant, int):
        return divisor.constant == size.constant
    names = [f"{each.label} {each.name}" for each in walk(divisor, most=4)]
    return divisor is size or any("accum" in name.lower() for name in names)
