"""A plan in words, and as plain values for JSON."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trimtab.fit import constants
from trimtab.fit.climb import EFFECTS, Climb
from trimtab.fit.gpus import Gpu
from trimtab.fit.memory_size import in_gib
from trimtab.fit.plan import Plan
from trimtab.fit.solve import Solved
from trimtab.fit.speed import Speed


@dataclass(frozen=True, slots=True)
class Answer:
    """What `trimtab fit` found of one recipe on one GPU."""

    name: str
    """Of the recipe."""
    gpu: Gpu
    plan: Plan
    speed: Speed
    ram: int | None
    """Bytes of host memory that there are, where they are known."""
    climb: Climb | None = None
    """What to change, where it does not fit."""
    smallest: Plan | None = None
    """The least that all changes bring it to, where nothing fits."""
    solved: Solved | None = None
    notes: tuple[str, ...] = ()

    @property
    def trains(self) -> bool:
        """Whether training fits on the GPU and in host memory."""
        most = max(self.plan.start, self.plan.driver)
        return most <= self.gpu.memory and (self.ram is None or self.plan.host <= self.ram)

    @property
    def fits(self) -> bool:
        """Whether its evaluations fit as well."""
        return self.trains and self.plan.evaluation <= self.gpu.memory


def as_text(answer: Answer) -> str:
    """All lines, for a terminal."""
    return "\n".join(lines_of(answer)) + "\n"


def lines_of(answer: Answer) -> Iterator[str]:
    """The plan, then what to change."""
    plan, gpu = answer.plan, answer.gpu
    yield f"{answer.name} on {gpu.name}: {verdict(answer)}"
    yield ""
    shape, slots = plan.run.shape, plan.run.slots
    trained = "" if shape.trained == shape.parameters else f", {shape.trained:,} of them trained"
    yield f"  {shape.parameters:,} parameters{trained}; {described_run(plan)}"
    source = f" and {slots.source:,} of the source" if slots.source and slots.target else ""
    first = slots.target or slots.source
    yield (
        f"  the longest micro-batch has {first:,} slots{source}, {slots.micro_batches} to a step"
        f"{' on each process' if plan.run.ranks > 1 else ''}; tensors hold the most at: {plan.peak_moment}"
    )
    yield ""
    width = max(len(owner) for owner in plan.owners)
    for owner, size in plan.owners.items():
        yield f"  {owner:<{width}}  {in_gib(size):>12}"
    kinds = [f"{kind} {in_gib(size)}" for kind, size in plan.activations.items() if size]
    yield f"  activations by kind: {', '.join(kinds)}"
    yield ""
    yield f"  allocated   {in_gib(plan.allocated):>12}   what tensors hold at the peak"
    yield f"  reserved    {in_gib(plan.reserved):>12}   what PyTorch's allocator takes for them"
    yield f"  driver      {in_gib(plan.driver):>12}   what the process holds, of {in_gib(gpu.memory)}"
    if plan.start:
        yield f"  start       {in_gib(plan.start):>12}   the process before the weights are sharded"
    if plan.evaluation:
        yield f"  evaluation  {in_gib(plan.evaluation):>12}   the process while a copy of the model is scored"
    of_ram = "" if answer.ram is None else f", of {in_gib(answer.ram)}"
    yield f"  host        {in_gib(plan.host):>12}   of the training process{of_ram}"
    yield (
        f"  speed       {answer.speed.tokens_per_second:>12,.0f}   tokens a second, an estimate; "
        f"{answer.speed.seconds:.3g} s a step"
    )
    if slots.assumed_source:
        yield "  The source's slots are a guess from the sizes of the files; a run's own recipe.yaml has their number."
    yield from (f"  {note}" for note in answer.notes)
    yield from advice(answer)


def verdict(answer: Answer) -> str:
    """One line: whether it fits, and by how much."""
    plan, memory = answer.plan, answer.gpu.memory
    if not plan.driver <= memory:
        over = plan.driver - memory
        return f"does not fit: {in_gib(plan.driver)} of {in_gib(memory)}, {in_gib(over)} too much"
    if plan.start > memory:
        over = plan.start - memory
        return f"does not fit at the start: {in_gib(plan.start)} of {in_gib(memory)}, {in_gib(over)} too much"
    if answer.ram is not None and plan.host > answer.ram:
        return f"does not fit into host memory: {in_gib(plan.host)} of {in_gib(answer.ram)}"
    if plan.evaluation > memory:
        over = plan.evaluation - memory
        return (
            f"fits only without evaluation: training takes {in_gib(plan.driver)} of {in_gib(memory)}, an evaluation "
            f"{in_gib(over)} too much"
        )
    narrow = plan.peak > constants.NARROW * memory
    hint = ", narrowly: plans have been up to a tenth too low, so try `--probe`" if narrow else ""
    return f"fits: {in_gib(plan.peak)} of {in_gib(memory)} ({plan.peak / memory:.0%}){hint}"


def described_run(plan: Plan) -> str:
    """How it runs, in words."""
    run = plan.run
    how = "compiled" if run.how.compiled else "not compiled"
    steps = "recorded steps" if run.recorded else "steps launched kernel by kernel"
    attention = "" if run.how.packed else ", padded rows"
    return f"{run.how.precision}, {run.recipe.step.optimizer.kind}, {how}, {steps}{attention}"


MOST_OF: Mapping[str, str] = {
    "step.tokens_per_micro_batch": "That is a whole step; a larger step.tokens_per_step changes the training.",
    "data.max_tokens": "The planner does not try longer texts.",
    "adapter.rank": "The planner does not try a higher rank.",
    "model.dim": "The planner does not try a wider model.",
}
"""What ends the search where memory is left."""


def advice(answer: Answer) -> Iterator[str]:
    """What to change so that it fits, or the value that was asked for."""
    if answer.solved is not None:
        solved = answer.solved
        yield ""
        told = " ".join([f"{solved.key}={solved.value}", *solved.others])
        yield f"the largest that fits: {told}   ({in_gib(solved.plan.peak)} of {in_gib(answer.gpu.memory)})"
        if solved.is_most:
            yield MOST_OF[solved.key]
        return
    if answer.fits:
        return
    yield ""
    if answer.climb is None:
        if answer.smallest is not None:
            over = answer.smallest.peak - constants.PROPOSED_SHARE * answer.gpu.memory
            yield (
                f"nothing that a recipe can change makes it fit: with all of it {in_gib(answer.smallest.peak)}, "
                f"{in_gib(over)} too much with a twentieth to spare. Take a smaller model (`--solve dim`) or a larger "
                "GPU (`--gpu all`)."
            )
    else:
        yield from climb_lines(answer.climb, answer.gpu.memory)
    plan = answer.plan if answer.climb is None else answer.climb.plan
    if answer.ram is not None and plan.host > answer.ram:
        yield (
            f"the host is {in_gib(plan.host - answer.ram)} short: it holds PyTorch, the model while it is built "
            "and each checkpoint while it is assembled. `model.init_on: gpu`, `step.optimizer.states: 8bit` or a "
            "smaller model needs less."
        )


def climb_lines(climb: Climb, memory: int) -> Iterator[str]:
    """The changes as recipe lines, what each does, and the command line that makes them."""
    speed = f"{abs(climb.slowdown):.0%} {'slower' if climb.slowdown >= 0 else 'faster'} by estimate"
    yield f"it fits with these lines ({in_gib(climb.plan.peak)} of {in_gib(memory)}, {speed}):"
    yield ""
    for line in recipe_lines([(change.key, change.value) for change in climb.changes]):
        yield f"    {line}"
    yield ""
    for change in climb.changes:
        yield f"  {change.key}: {EFFECTS[change.effect]}"
    yield f"or on the command line: {climb.command_line}"


def recipe_lines(settings: Sequence[tuple[str, str]]) -> list[str]:
    """Dotted keys as YAML, those of one group under it."""
    tree: dict[str, Any] = {}
    for key, value in settings:
        place = tree
        *groups, name = key.split(".")
        for group in groups:
            place = place.setdefault(group, {})
        place[name] = value
    return [*_written(tree, "")]


def _written(tree: dict[str, Any], indent: str) -> Iterator[str]:
    for name, value in tree.items():
        if isinstance(value, dict):
            yield f"{indent}{name}:"
            yield from _written(value, indent + "  ")  # type: ignore[arg-type]
        else:
            yield f"{indent}{name}: {value}"


def as_values(answer: Answer) -> dict[str, Any]:
    """The same for JSON: bytes, and seconds."""
    plan, slots = answer.plan, answer.plan.run.slots
    climb, solved = answer.climb, answer.solved
    return {
        "recipe": answer.name,
        "gpu": {"name": answer.gpu.name, "memory": answer.gpu.memory, "source": answer.gpu.source},
        "fits": answer.fits,
        "fits_without_evaluation": answer.trains,
        "parameters": plan.run.shape.parameters,
        "trained_parameters": plan.run.shape.trained,
        "slots": {"target": slots.target, "source": slots.source, "source_is_a_guess": slots.assumed_source},
        "micro_batches_per_step": slots.micro_batches,
        "ranks": plan.run.ranks,
        "program": {
            "precision": plan.run.how.precision,
            "compiled": plan.run.how.compiled,
            "recorded": plan.run.recorded,
            "packed": plan.run.how.packed,
        },
        "bytes": {
            "by_owner": plan.owners,
            "activations_by_kind": plan.activations,
            "moments": plan.moments,
            "allocated": plan.allocated,
            "reserved": plan.reserved,
            "driver": plan.driver,
            "start": plan.start,
            "evaluation": plan.evaluation,
            "host": plan.host,
        },
        "peak_moment": plan.peak_moment,
        "estimate": {
            "tokens_per_second": answer.speed.tokens_per_second,
            "seconds_per_step": answer.speed.seconds,
        },
        "changes": None
        if climb is None
        else {
            "settings": {change.key: change.value for change in climb.changes},
            "effects": {change.key: EFFECTS[change.effect] for change in climb.changes},
            "slowdown": climb.slowdown,
            "peak": climb.plan.peak,
        },
        "too_much": None if answer.smallest is None else answer.smallest.peak - answer.gpu.memory,
        "solved": None
        if solved is None
        else {
            "key": solved.key,
            "value": solved.value,
            "with": [*solved.others],
            "peak": solved.plan.peak,
            "is_most": solved.is_most,
        },
        "notes": [*answer.notes],
    }


def text_of_all(answers: Sequence[Answer]) -> str:
    """A line for each card, and the smallest one on which the recipe fits."""
    lines: list[str] = []
    for answer in answers:
        changed = ""
        if not answer.fits and answer.climb is not None:
            changed = "with " + " ".join(change.override for change in answer.climb.changes)
        fits = "fits" if answer.fits else changed or "does not fit"
        speed = answer.speed if answer.fits else None
        rate = f"{speed.tokens_per_second:>11,.0f} tokens/s" if speed else " " * 20
        lines.append(f"  {answer.gpu.name:<16} {in_gib(answer.gpu.memory):>11} {rate}  {fits}")
    smallest = next((answer for answer in answers if answer.fits), None)
    changed = next((answer for answer in answers if answer.climb is not None), None)
    needs = in_gib(answers[-1].plan.peak)
    head = f"{answers[0].name} needs {needs}; "
    if smallest is not None:
        head += f"the smallest card of the table that it fits on: {smallest.gpu.name}"
    else:
        head += "it fits on no card of the table"
    if changed is not None and (smallest is None or changed.gpu.memory < smallest.gpu.memory):
        head += f"; with changes {changed.gpu.name}"
    return "\n".join([head, "", *lines, "", "  Tokens per second are estimates."]) + "\n"
