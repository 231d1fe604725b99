"""S137 gradients-never-cleared"""

from collections.abc import Iterator

from trimtab.checks.code_text import says
from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.place import Place
from trimtab.checks.read.flow.loops import CLEARS, Loop, is_step, stepped, training_loops
from trimtab.checks.read.flow.modules import is_module
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.periods import turn_of
from trimtab.checks.read.flow.roles import is_asked, is_optimizer, root
from trimtab.checks.read.flow.values import Block, Event, Flow, Value
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\noptimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)\nfor x, y in loader:\n"
    "    loss = torch.nn.functional.cross_entropy(model(x), y)\n    loss.backward()\n    optimizer.step()\n{clear}"
)

RULE = Rule(
    code="S137",
    name="gradients-never-cleared",
    severity="error",
    message="{fault}",
    why="PyTorch adds each backward pass to the gradients that are already there. Without `zero_grad()` every step "
    "follows the sum of all batches so far; cleared between `backward()` and `step()`, the step has no gradient at "
    "all.",
    evidence=(
        Maintainer(
            "https://pytorch.org/tutorials/beginner/basics/optimization_tutorial.html",
            "'Call optimizer.zero_grad() to reset the gradients of model parameters. Gradients by default add up'.",
        ),
        Arithmetic(
            "After n batches without clearing the gradient is a sum of n terms: batch 1 counts n times."
        ),
    ),
    fix=Fix("{fix}"),
    bad=Example("train.py", _SCRIPT.format(clear="")),
    good=Example("train.py", _SCRIPT.format(clear="    optimizer.zero_grad()\n")),
    symptoms=(
        "zero_grad is missing or forgotten",
        "diverged",
        "loss rises",
        "model learns nothing",
        "zero_grad is forgotten",
        "gradients add up",
        "gradients grow with every step",
        "gradient norm grows step by step",
        "loss jumps up and down",
    ),
)
_CLEARING = (
    *CLEARS,
    "grad = None",
    "grad=None",
    "grad.zero_",
    "grad.data.zero_",
    "grad.fill_",
    "foreach_zero_",
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where a loop shows backward pass and step: nothing in the file clears, or what clears stands between the
    two. Engines that clear by themselves (DeepSpeed, Lightning) have no optimizer that steps in the script."""
    flow = flow_of(run.document)
    if not flow.is_whole or not training_loops(flow):
        return
    clears = says(run.document, *_CLEARING)
    for loop in training_loops(flow):
        step = next(loop.steps(), None)
        if step is None or loop.backward.index > step.index or _is_new(stepped(step), loop):
            continue
        is_apart = clears and (_is_cleared_elsewhere(run, flow, loop) or _is_made_apart(run, flow, loop))
        if (not clears or is_apart) and not _is_handed_on(loop):
            fix = "call `optimizer.zero_grad()` once a step, behind `optimizer.step()` or before `backward()`"
            yield RULE.at(
                step.place, fault="gradients are never cleared: each step adds to all before it", fix=fix
            )
            return
        if _is_cleared_outside(run, flow, loop) and not _is_handed_on(loop):
            fault = "gradients are not cleared in the loop over batches: each step adds to those before it"
            fix = "call `optimizer.zero_grad()` in the loop that steps, once a step"
            yield RULE.at(step.place, fault=fault, fix=fix)
            return
        alone = _never_cleared(run, flow, loop)
        if alone is not None and not _is_handed_on(loop):
            name = (stepped(alone).label if stepped(alone) else "") or "this optimizer"  # type: ignore[union-attr]
            fault = f"gradients of `{name}` are never cleared: each step adds to all before it"
            yield RULE.at(alone.place, fault=fault, fix=f"call `{name}.zero_grad()` once a step")
            return
        lost = _cleared_between(loop)
        if lost is not None:
            fix = "move `zero_grad()` behind `step()`"
            yield RULE.at(lost, fault="gradients are cleared between backward pass and step", fix=fix)
            return
        late = _cleared_too_late(loop)
        if late is not None:
            fault = (
                "gradients are cleared before the last micro-batch of a step: those of the others are lost"
            )
            yield RULE.at(late, fault=fault, fix="clear after `step()`, in the same branch")
            return
        wasted = _cleared_each_time(loop)
        if wasted is not None:
            fault = "gradients are cleared with every micro-batch, and the optimizer steps with every few"
            yield RULE.at(wasted, fault=fault, fix="clear after `step()`, in the same branch")
            return


def _is_cleared_elsewhere(run: Description, flow: Flow, loop: Loop) -> bool:
    """Whether all that clears in the file is seen, by `zero_grad()` alone, in other functions that never meet this
    one."""
    if says(run.document, *(word for word in _CLEARING if word not in CLEARS)):
        return False
    function = next((block for block in loop.backward.path if block.kind == "function"), None)
    clears = list(flow.named(*CLEARS))
    if function is None or loop.backward.path[0] is not function or not clears:
        return False
    lines = run.document.text.count(".zero_grad(")
    seen = {event.place for event in clears}
    apart = all(
        event.path and event.path[0].kind == "function" and not event.within(function) for event in clears
    )
    return apart and len(seen) == lines


def _is_made_apart(run: Description, flow: Flow, loop: Loop) -> bool:
    """Whether one function makes the optimizer and steps it, and nothing between the two places clears anything."""
    function = next((block for block in loop.backward.path if block.kind == "function"), None)
    made = [stepped(step) for step in loop.steps()]
    if (
        function is None
        or loop.backward.path[0] is not function
        or any(each is None or each.made != "call" or each.place is None for each in made)
    ):
        return False
    inside = flow.inside(function)
    here = run.document.path
    lines = [
        each.place.line
        for each in made
        if each is not None and each.place is not None and each.place.path == here
    ]
    lines += [step.place.line for step in loop.steps() if step.place.path == here]
    if len(lines) != 2 * len(made) or not any(each.value is made[0] for each in inside):
        return False
    between = "\n".join(run.document.text.split("\n")[min(lines) - 1 : max(lines) + _BEHIND])
    return not any(word in between for word in _CLEARING) and not any(each.name in CLEARS for each in inside)


_BEHIND = 40
"""Lines behind the step that may still belong to the loop."""


def _is_cleared_outside(run: Description, flow: Flow, loop: Loop) -> bool:
    """Whether all that clears in the file is seen, by `zero_grad()` alone, and none of it clears what the loop steps:
    it comes before the loop, once an epoch, or of another model."""
    if loop.block.kind == "function" or says(
        run.document, "post_accumulate", *(word for word in _CLEARING if word not in CLEARS)
    ):
        return False
    clears = list(flow.named(*CLEARS))
    lines = sum(text.count(f".{name}(") for text in (run.document.text, *flow.texts) for name in CLEARS)
    if not clears or len({event.place for event in clears}) != lines:
        return False
    steps = [stepped(step) for step in loop.steps()]
    within = [event for event in clears if event.within(loop.block)]
    if any(_may_clear(event, each) for event in within for each in steps):
        return False
    function = next((block for block in reversed(loop.backward.path) if block.kind == "function"), None)
    return bool(within) or all(function is None or event.within(function) for event in clears)


def _never_cleared(run: Description, flow: Flow, loop: Loop) -> Event | None:
    """The step of one of several optimizers whose gradients nothing in the file clears, where all that clears is seen:
    a generator's, which gets gradients from the loss of the discriminator too."""
    steps = [step for step in loop.steps() if (made := stepped(step)) is not None and made.made == "call"]
    clears = list(flow.named(*CLEARS))
    lines = sum(text.count(f".{name}(") for text in (run.document.text, *flow.texts) for name in CLEARS)
    is_seen = len({event.place for event in clears}) == lines
    if not is_seen or len({id(stepped(step)) for step in steps}) < _SEVERAL:
        return None
    if says(run.document, *(word for word in _CLEARING if word not in CLEARS)):
        return None
    return next((step for step in steps if not any(_may_clear(each, stepped(step)) for each in clears)), None)


_SEVERAL = 2
"""Optimizers in one loop."""


def _may_clear(clear: Event, optimizer: Value | None) -> bool:
    """Whether a `zero_grad()` may be that of an optimizer: all but that of another one, or of a model apart from
    its own."""
    of = root(clear.subject)
    if of is None or optimizer is None or optimizer.made != "call" or of is optimizer:
        return True
    if is_optimizer(of):
        return of.made != "call"
    given = optimizer.argument(0, "params")
    own = root(given.of) if given is not None and given.last == "parameters" else None
    if own is None or not all(each.made in ("call", "object") and is_module(each) for each in (of, own)):
        return True
    return any(each is other for one, other in ((of, own), (own, of)) for each in _inside(one))


def _inside(module: Value) -> Iterator[Value]:
    """A module, and those that are seen to be in it."""
    waiting, seen = [module], set[int]()
    while waiting and len(seen) < 200:
        each = waiting.pop()
        if id(each) not in seen:
            seen.add(id(each))
            yield each
            waiting += [*each.parts(), *each.fields.values()]


def _is_new(optimizer: Value | None, loop: Loop) -> bool:
    """Whether the optimizer is made in the loop, perhaps over tensors that are new in each turn; Lightning's
    `self.optimizers()` only fetches it."""
    if optimizer is not None and optimizer.last == "optimizers":
        return False
    return optimizer is not None and any(event.value is optimizer for event in loop.events)


def _is_handed_on(loop: Loop) -> bool:
    """Whether the optimizer goes to code that cannot be seen here and may clear the gradients."""
    optimizers = {id(event.subject) for event in loop.steps()}
    for event in loop.events:
        given = (*event.value.args, *event.value.keywords.values()) if event.kind == "call" else ()
        if event.name not in ("step", "unscale_") and any(id(each) in optimizers for each in given):
            return True
    return False


_BETWEEN = frozenset(
    {
        "clip_grad_norm_", "clip_grad_value_", "parameters", "unscale_", "print", "item", "update", "append", "float",
        "set_postfix", "set_description", "len", "max", "min",
    }
)  # fmt: skip
"""Calls that make no gradient: between clearing and step there is nothing else."""


def _cleared_between(loop: Loop) -> Place | None:
    """Where gradients of a backward pass of the same turn are cleared, and nothing makes new ones before the step."""
    path = [block for block in loop.backward.path if block.kind != "with"]
    steps = list(loop.steps())
    for clear in loop.called("zero_grad"):
        here = [block for block in clear.path if block.kind != "with"]
        step = next((each for each in steps if each.index > clear.index), None)
        if clear.index < loop.backward.index or step is None or here[: len(path)] != path:
            continue
        if step.path[: len(clear.path)] != clear.path or not _clears(clear, stepped(step)):
            continue
        between = [
            each for each in loop.events if clear.index < each.index < step.index and each.kind == "call"
        ]
        if all(each.name in _BETWEEN for each in between):
            earlier = [each for each in loop.events if loop.backward.index < each.index < clear.index]
            if not any(is_step(each) for each in earlier):
                return clear.place
    return None


def _clears(clear: Event, optimizer: Value | None) -> bool:
    """Whether gradients of an optimizer are cleared, by itself or by the model whose parameters it has."""
    if optimizer is None or clear.subject is optimizer:
        return clear.subject is optimizer
    given = optimizer.argument(0, "params") if optimizer.made == "call" else None
    return given is not None and given.last == "parameters" and root(given.of) is root(clear.subject)


def _cleared_too_late(loop: Loop) -> Place | None:
    """Where the turn that steps clears before its own backward pass, under the condition that it steps under."""
    if loop.is_within_period(loop.backward):
        return None
    for step in loop.steps():
        for clear in loop.called("zero_grad"):
            if clear.index < loop.backward.index < step.index and clear.subject is stepped(step):
                one, other = (
                    [b for b in each.below(loop.block) if b.kind != "with"] for each in (clear, step)
                )
                if len(one) == len(other) == 1 and _is_one_turn(one[0], other[0]):
                    return clear.place
    return None


def _is_one_turn(one: Block, other: Block) -> bool:
    """Whether two branches are taken in the same turns, and not in others."""
    if one.kind != "if" or other.kind != "if" or one.value is None or other.value is None:
        return False
    if is_asked(one.value) and is_asked(other.value):
        return one.value.name == other.value.name and one.value.of is other.value.of
    turns = turn_of(one.value), turn_of(other.value)
    return (
        turns[0] is not None
        and turns[1] is not None
        and turns[0].counted == turns[1].counted
        and all(turn.holds and turn.is_longer_than(1) for turn in turns if turn is not None)
    )


def _cleared_each_time(loop: Loop) -> Place | None:
    """Where every turn clears and goes backward, in one straight line, and only some step."""
    steps = list(loop.steps())
    if not steps or not all(loop.is_within_period(step) for step in steps):
        return None
    if loop.is_within_period(loop.backward):
        return None
    path = [block for block in loop.backward.path if block.kind != "with"]
    for event in loop.called("zero_grad"):
        here = [block for block in event.path if block.kind != "with"]
        if (
            here == path
            and event.index < loop.backward.index
            and event.subject in [stepped(step) for step in steps]
        ):
            return event.place
    return None
