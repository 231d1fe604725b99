"""S160 schedule-in-another-unit"""

from collections.abc import Iterator
from typing import Final

from trimtab.checks.code_text import says
from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.read.flow.accelerators import accelerators, is_accelerator
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.periods import turn_of_event
from trimtab.checks.read.flow.roles import is_known_schedule, options
from trimtab.checks.read.flow.schedules import (
    Product,
    Stepped,
    batches_of,
    is_count_of,
    length_of,
    product_of,
    stepped_schedules,
)
from trimtab.checks.read.flow.values import Block, Flow, Value, walk
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nfrom transformers import get_linear_schedule_with_warmup\nepochs, accumulation = 3, 8\n"
    "optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)\n"
    "schedule = get_linear_schedule_with_warmup(optimizer, 100, {length})\nfor epoch in range(epochs):\n"
    "    for i, (x, y) in enumerate(loader):\n"
    "        (torch.nn.functional.cross_entropy(model(x), y) / accumulation).backward()\n"
    "        if (i + 1) % accumulation == 0:\n            optimizer.step()\n            schedule.step()\n"
    "            optimizer.zero_grad()\n"
)

RULE = Rule(
    code="S160",
    name="schedule-in-another-unit",
    severity="warning",
    message="{fault}",
    why="A schedule counts its own steps, and its length must be in the same unit: optimizer steps if it steps after "
    "the optimizer, epochs if it steps once an epoch. If the length counts micro-batches, or leaves out the epochs, "
    "the learning rate is still high when the run ends, or reaches 0 long before.",
    evidence=(
        Arithmetic(
            "3 epochs of 1,000 batches with accumulation 8 are 375 steps; of a decay over 3,000 they are an eighth."
        ),
        Maintainer(
            "https://github.com/huggingface/transformers/pull/24088",
            "A schedule that Accelerate prepares and that counts the processes already is stepped "
            "'num_processes too fast'.",
        ),
    ),
    fix=Fix("{fix}"),
    bad=Example("train.py", _SCRIPT.format(length="len(loader) * epochs")),
    good=Example("train.py", _SCRIPT.format(length="len(loader) // accumulation * epochs")),
    tips=("S0-113",),
    symptoms=(
        "learning rate is flat with a cosine schedule",
        "learning rate does not come down",
        "learning rate reaches 0 early",
        "learning rate is 0 after the first epoch",
        "learning rate stays constant in the log",
        "learning rate goes up and down",
        "total steps of the scheduler are wrong with gradient accumulation",
        "learning rate reaches zero too early with gradient accumulation",
        "warm-up is over too early",
        "warm-up never ends",
        "scheduler is stepped for every micro-batch",
    ),
)
_COUNTING = frozenset({"accelerate", "lightning", "pytorch_lightning", "deepspeed"})


def check(run: Description) -> Iterator[Diagnosis]:
    """Lengths that are written as expressions: what multiplies and divides in them, beside the loop that steps."""
    yield from _multiplied(run)
    yield from _of_another_count(run)
    yield from _sharded(run)


def _of_another_count(run: Description) -> Iterator[Diagnosis]:
    """A length that is written in batches, epochs or both, and steps that come at another pace."""
    if run.document.imports & (_COUNTING - {"accelerate"}):
        return
    flow = flow_of(run.document)
    if not flow.is_whole:
        return
    is_accelerated = "accelerate" in run.document.imports
    for found in stepped_schedules(flow):
        if is_accelerated and (
            found.pace != "period"
            or _is_prepared(flow, found.schedule)
            or any(True for _ in flow.named("accumulate"))
        ):
            continue  # Accelerate may step it, or count, by itself
        wrong = _wrong_milestones(found)
        if wrong is not None:
            fault, fix = wrong
            yield RULE.at(found.schedule.place or found.event.place, fault=fault, fix=fix)
            return
        product = product_of(length_of(found.schedule))
        wrong = _wrong_count(found, product) if product is not None else None
        if wrong is not None:
            fault, fix = wrong
            yield RULE.at(found.schedule.place or found.event.place, fault=fault, fix=fix)
            return


_SHORT: Final = 300
"""Batches that are fewer than an epoch has, and epochs that are more than most runs have."""


def _wrong_milestones(found: Stepped) -> tuple[str, str] | None:
    """Milestones in epochs of a schedule that steps with every batch, and a OneCycleLR of batches once an epoch."""
    schedule, epochs = found.schedule, found.epochs
    if epochs is None or schedule.has_rest or found.event.path[-1].kind in ("if", "else"):
        return None
    if found.pace == "epoch" and schedule.last == "OneCycleLR" and "steps_per_epoch" in schedule.keywords:
        per_epoch = schedule.keywords["steps_per_epoch"].constant
        if per_epoch != 1:
            return (
                "OneCycleLR counts batches, and it steps once an epoch: it never leaves its warm-up",
                _BEHIND,
            )
    counts = [each.constant for each in walk(epochs.value, most=6) if type(each.constant) is int]
    total = max(counts, default=0)
    given = schedule.argument(1, "milestones" if schedule.last == "MultiStepLR" else "step_size")
    if found.pace != "turn" or given is None or schedule.last not in ("MultiStepLR", "StepLR") or total < 2:
        return None
    marks = [each.constant for each in given.args] if given.made == "list" else [given.constant]
    if (
        marks
        and all(type(mark) is int and 1 <= mark <= min(total, _SHORT) for mark in marks)
        and max(marks) > 1
    ):
        fault = f"`{schedule.last}` has its milestones in epochs, and it steps with every batch"
        return fault, "step it once an epoch"
    return None


_BEHIND: Final = "step it behind `optimizer.step()`"


def _wrong_count(found: Stepped, product: Product) -> tuple[str, str] | None:
    """What is wrong with the length of a schedule, and what it should be."""
    batches = batches_of(product, found.loop)
    epochs = found.epochs
    counted = _wrong_length(found, product, batches)
    if counted is not None:
        return counted
    counts_epochs = epochs is not None and any(is_count_of(each, epochs) for each in product.factors)
    if batches and found.pace == "period" and not product.divisors:
        turn = turn_of_event(found.event, found.loop.block)
        if turn is not None and turn.is_longer_than(1):
            return (
                "the schedule's length counts micro-batches, and it steps when enough are accumulated: at the end of "
                "the run it has hardly begun to fall",
                "divide the length by the number of micro-batches in a step",
            )
    if batches and found.pace == "epoch" and not product.divisors:
        return (
            "the schedule's length counts batches, and it steps once an epoch: it hardly moves",
            "step the schedule behind `optimizer.step()`, or count epochs",
        )
    if epochs is None or found.pace != "turn" or product.divisors:
        return None
    is_one_epoch = bool(batches) and len(product.factors) == len(batches) and not _is_one(epochs)
    if is_one_epoch and found.schedule.last.startswith("get_linear") and not _is_made_in(found):
        return (
            "the schedule's length is one epoch, and the loop runs several: the rate is 0 in all but the first",
            "multiply the length by the number of epochs",
        )
    if counts_epochs and len(product.factors) == 1 and not _is_made_in(found):
        return (
            "the schedule's length is the number of epochs, and it steps with every batch",
            "step it once an epoch, or multiply its length by `len(loader)`",
        )
    return None


def _wrong_length(found: Stepped, product: Product, batches: list[Value]) -> tuple[str, str] | None:
    """A length that divides batches once more, or counts something else than the batches of the loop."""
    divisors = [_last_name(each) for each in product.divisors]
    if batches and found.pace != "epoch" and any(name in _SIZES for name in divisors):
        return (
            "the schedule's length divides by the batch size, and `len` of a loader counts batches already: the rate "
            "is 0 long before the end",
            "leave the batch size out of the length",
        )
    if found.pace != "turn":
        return None
    if (
        batches
        and any("accum" in name for name in divisors)
        and not any(found.loop.is_within_period(step) for step in found.loop.steps())
    ):
        return (
            "the schedule's length is divided by the accumulation, and the loop steps with every batch: the rate is 0 "
            "long before the end",
            "leave the accumulation out of the length, or accumulate",
        )
    others = [each for each in product.factors if each.made == "call" and each.name == "len" and each.args]
    if product.divisors or batches or len(others) != 1:
        return None
    loaders = {id(each): each for each in walk(found.loop.block.value, most=12) if _is_loader(each)}
    counted = others[0].args[0]
    if len(loaders) != 1:
        return None
    (loader,) = loaders.values()
    if _is_dataset_of(counted, loader):
        return (
            "the schedule's length counts examples, and it steps once a batch: at the end of the run it has hardly "
            "begun to fall",
            "count batches: `len(loader)`",
        )
    if _is_loader(counted) and counted is not loader and _is_held_out(counted) and not _is_held_out(loader):
        return (
            f"the schedule's length counts the batches of `{counted.label}`, and the loop goes over `{loader.label}`",
            f"count `len({loader.label})`",
        )
    return None


_SIZES: Final = frozenset(
    {"batch_size", "train_batch_size", "per_device_train_batch_size", "micro_batch_size", "bs"}
)


def _last_name(value: Value) -> str:
    key = value.args[0].constant if value.made == "item" and value.args else None
    return (key if isinstance(key, str) else value.name or value.label).rpartition(".")[2].lower()


def _is_loader(value: Value) -> bool:
    return value.made == "call" and value.name in (
        "torch.utils.data.DataLoader",
        "torch.utils.data.dataloader.DataLoader",
    )


def _is_dataset_of(value: Value, loader: Value) -> bool:
    """Whether a loader of batches goes over it, in the order of its sampler or its own."""
    size = loader.argument(1, "batch_size")
    if size is None or size.constant in (1, None) or loader.has_rest:
        return False
    if value.made == "attribute" and value.name == "dataset":
        return value.of is loader
    return value is loader.argument(0, "dataset")


def _is_held_out(loader: Value) -> bool:
    return any(part in loader.label.lower() for part in ("val", "test", "eval", "dev"))


def _is_one(epochs: Block) -> bool:
    """Whether a loop over epochs has one turn, as far as can be seen."""
    counts = [each for each in walk(epochs.value, most=4) if each.last in ("range", "trange")]
    return bool(counts) and [each.constant for each in counts[0].args] == [1]


def _is_made_in(found: Stepped) -> bool:
    """Whether each epoch makes its own schedule: it is made behind the line that begins the loop over epochs."""
    made, loop = found.schedule.place, found.epochs.place if found.epochs is not None else None
    return made is None or loop is None or (made.path == loop.path and made.line > loop.line)


def _multiplied(run: Description) -> Iterator[Diagnosis]:
    """A length with the number of epochs in it twice; and one in micro-batches for a schedule that Accelerate steps
    with the optimizer."""
    if not says(run.document, "num_training_steps"):
        return
    flow = flow_of(run.document)
    sizes = [made.keywords.get("gradient_accumulation_steps") for made in accelerators(run.document)]
    for event in flow.events:
        if event.kind != "call" or not is_known_schedule(event.value):
            continue
        length = event.value.keywords.get("num_training_steps")
        factors = _factors(length)
        epochs = [
            each for each in factors if "epoch" in (each.label or each.name).lower() and each.made != "binary"
        ]
        if len(epochs) > len({id(each) for each in epochs}):
            fault = "the number of epochs is in the schedule's length twice"
            yield RULE.at(event.place, severity="error", fault=fault, fix="take one of the two factors out")
            return
        if _divides_by_epochs(length):
            fault = "the schedule's length is divided by the number of epochs"
            yield RULE.at(event.place, severity="error", fault=fault, fix="multiply by the number of epochs")
            return
        accumulated = any(True for _ in flow.named("accumulate"))
        size = sizes[0] if accumulated and len(sizes) == 1 else None
        if size is None or size.constant == 1 or not _is_prepared(flow, event.value):
            continue
        if any(_is_same(each, size) for each in factors):
            fault = "the length is multiplied by the accumulation, but Accelerate steps the schedule with the optimizer"
            way = "leave `gradient_accumulation_steps` out of the schedule's length"
            yield RULE.at(event.place, severity="error", fault=fault, fix=way)
            return


def _divides_by_epochs(length: Value | None) -> bool:
    """Whether a length has the number of epochs among what it is divided by, and nowhere else."""
    product = product_of(length)
    if product is None:
        return False
    names = [[_last_name(each) for each in part] for part in product]
    return any("epochs" in name for name in names[1]) and not any("epoch" in name for name in names[0])


def _sharded(run: Description) -> Iterator[Diagnosis]:
    """A length by the loader that Accelerate has cut already, of a schedule that it steps once for each process."""
    made = accelerators(run.document)
    if len(made) != 1 or says(
        run.document, "split_batches", "step_scheduler_with_optimizer", "num_processes"
    ):
        return
    flow = flow_of(run.document)
    prepares = [event for event in flow.named("prepare") if is_accelerator(event.subject)]
    for event in flow.events if prepares else ():
        if event.kind != "call" or not is_known_schedule(event.value) or not _is_prepared(flow, event.value):
            continue
        length = length_of(event.value)
        for count in walk(length, most=12):
            if count.made != "call" or count.name != "len" or not count.args:
                continue
            cut = [
                each
                for each in prepares
                if each.index < count.index and any(one is count.args[0] for one in each.value.args)
            ]
            if cut and not any(one is event.value for each in cut for one in each.value.args):
                fault = (
                    "the length counts batches of one process, and Accelerate steps a prepared schedule once for "
                    "each: on several the rate is 0 long before the end"
                )
                fix = "take `len(loader)` before `prepare`, or multiply by `accelerator.num_processes`"
                yield RULE.at(event.place, fault=fault, fix=fix)
                return


def _is_prepared(flow: Flow, schedule: Value) -> bool:
    """Whether Accelerate steps the schedule, which then counts optimizer steps by itself."""
    given = [each for event in flow.named("prepare") for each in event.value.args]
    return any(one is schedule for each in given for one in options(each))


def _factors(value: Value | None, *, depth: int = 0) -> list[Value]:
    """What a product is made of, also inside `math.ceil` and what is rounded down."""
    if value is None or depth > 12:
        return []
    if value.made == "binary" and value.name in ("*", "//", "/") and len(value.args) == 2:
        others = _factors(value.args[1], depth=depth + 1) if value.name == "*" else []
        return [*_factors(value.args[0], depth=depth + 1), *others]
    if value.made == "call" and value.last in ("ceil", "floor", "int", "round") and value.args:
        return _factors(value.args[0], depth=depth + 1)
    return [value]


def _is_same(one: Value, other: Value) -> bool:
    return one is other or (
        one.made == other.made == "attribute" and one.name == other.name and one.of is other.of
    )
