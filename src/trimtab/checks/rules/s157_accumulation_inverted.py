"""S157 accumulation-inverted"""

from collections.abc import Iterator

from trimtab.checks.code_text import says
from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.place import Place
from trimtab.checks.read.flow.loops import Loop, training_loops
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.periods import Turn, turn_of, turn_of_block, turn_of_event
from trimtab.checks.read.flow.roles import options
from trimtab.checks.read.flow.values import Event, Value
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nfrom contextlib import nullcontext\nfrom torch.nn.parallel import DistributedDataParallel as DDP\n"
    "model = DDP(net)\noptimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)\n"
    "for i, (x, y) in enumerate(loader):\n"
    "    is_last = (i + 1) % 8 == 0\n    with {context}:\n"
    "        (torch.nn.functional.cross_entropy(model(x), y) / 8).backward()\n"
    "    if is_last:\n        optimizer.step()\n        optimizer.zero_grad()\n"
)

RULE = Rule(
    code="S157",
    name="accumulation-inverted",
    severity="error",
    message="{fault}",
    why="Gradients of the micro-batches of a step have to be summed over processes once, in the backward pass before "
    "the step. With an inverted condition, each process steps with its own gradients, so that the copies of the model "
    "drift apart; or it steps after every micro-batch except the last one, and accumulates nothing.",
    evidence=(
        Maintainer(
            "https://github.com/Lightning-AI/lit-llama/commit/02dcdaf45881585045ed93a74e417415d328e538",
            "The script of full fine-tuning had `== 0` for `!= 0`: it synchronised, and stepped, in wrong iterations.",
        ),
        Arithmetic(
            "Of 8 micro-batches 7 are synchronised for nothing, and the eighth, after which the step comes, is not."
        ),
    ),
    fix=Fix("{fix}"),
    bad=Example("train.py", _SCRIPT.format(context="model.no_sync() if is_last else nullcontext()")),
    good=Example("train.py", _SCRIPT.format(context="nullcontext() if is_last else model.no_sync()")),
    symptoms=(
        "ranks drift apart",
        "different weights on each GPU",
        "gradient accumulation under DDP learns nothing",
        "no_sync condition is inverted",
    ),
)
_SWITCHES = ("no_backward_sync", "set_requires_gradient_sync")


def check(run: Description) -> Iterator[Diagnosis]:
    """Compares the turn in which synchronising is left out with the one in which the optimizer steps, where both are
    written with the same remainder; and finds steps in every turn but one of several."""
    flow = flow_of(run.document)
    if not says(run.document, "no_sync", *_SWITCHES, "accum", "require_backward_grad_sync"):
        return
    for loop in training_loops(flow):
        steps = {turn for event in loop.steps() if (turn := turn_of_event(event, loop.block)) is not None}
        if len(steps) != 1:
            continue
        (step,) = steps
        if not step.is_longer_than(1):
            continue
        skips = _unsynchronised(loop, step)
        if skips is not None:
            yield RULE.at(
                skips,
                fault="gradients are left unsynchronised in the micro-batch after which the optimizer steps",
                fix="turn the condition round: leave synchronising out in all micro-batches but the last of a step",
            )
            return
        if _steps_in_all_others(loop, step):
            yield RULE.at(
                next(loop.steps()).place,
                fault="the optimizer steps in every turn but the one in which enough is accumulated",
                fix="step where the remainder is 0: `== 0` for `!= 0`, or the other branch",
            )
            return


def _unsynchronised(loop: Loop, step: Turn) -> Place | None:
    """Where synchronising is left out in the turn of the step."""
    for event in loop.called("no_sync"):
        blocks = [turn for block in event.below(loop.block) if (turn := turn_of_block(block)) is not None]
        chosen = _chosen(loop, event)
        turns = [*blocks, *([chosen] if chosen is not None else [])]
        if len(turns) == 1 and _is_turn_of(turns[0], step, True) and _has_backward(loop, event):
            return event.place
    for event in loop.called(*_SWITCHES):
        given = event.value.keywords.get("enabled") or event.value.argument(1, "enabled")
        is_off = event.name == "no_backward_sync"
        if not is_off:
            given = event.value.argument(0, "requires_gradient_sync")
        turn = turn_of(given)
        if turn is not None and _is_turn_of(turn, step, is_off):
            return event.place
    for event in loop.events:
        if event.kind == "set" and event.name == "require_backward_grad_sync":
            turn = turn_of(event.value)
            if turn is not None and _is_turn_of(turn, step, False):
                return event.place
    return None


def _is_turn_of(turn: Turn, step: Turn, is_same: bool) -> bool:
    return turn.counted == step.counted and (turn.holds == step.holds) == is_same


def _chosen(loop: Loop, event: Event) -> Turn | None:
    """Of `model.no_sync() if a else nullcontext()` the condition under which it is the first, or the second."""
    for other in loop.events:
        for block in other.below(loop.block):
            for context in block.contexts:
                each = options(context)
                test = context.fields.get("<test>") if context.made == "either" else None
                turn = turn_of(test)
                if turn is None or not any(one is event.value for one in each):
                    continue
                return turn if each[0] is event.value else turn._replace(holds=not turn.holds)
    return None


def _has_backward(loop: Loop, event: Event) -> bool:
    """Whether a backward pass runs in what the call begins."""
    return any(
        _is_begun(block.contexts, event.value) for each in loop.called("backward") for block in each.path
    )


def _is_begun(contexts: tuple[Value, ...], value: Value) -> bool:
    return any(one is value for each in contexts for one in options(each))


def _steps_in_all_others(loop: Loop, step: Turn) -> bool:
    """Whether all is done in the turns that are not the last of a period, which is longer than two turns: backward in
    each, and nothing steps in the last."""
    if step.holds or not step.is_longer_than(2) or loop.is_within_period(loop.backward):
        return False
    clears = list(loop.called("zero_grad"))
    name = (step.period.label or step.period.name).lower()
    is_accumulated = "accum" in name or any(True for _ in loop.called("no_sync", *_SWITCHES))
    return (
        is_accumulated and bool(clears) and all(turn_of_event(event, loop.block) == step for event in clears)
    )
