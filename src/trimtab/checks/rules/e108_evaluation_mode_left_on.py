"""E108 evaluation-mode-left-on"""

from collections.abc import Iterator

from trimtab.checks.code_text import says
from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.read.flow.loops import is_step, training_loops
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import root
from trimtab.checks.read.flow.values import Block, Event, Flow, Value
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nfrom model import Translator\nmodel = Translator(dropout=0.3)\n"
    "optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4)\n"
    "def validate():\n    model.eval()\n    with torch.no_grad():\n"
    "        return sum(model(x, y).item() for x, y in valid)\n"
    "model.train()\nfor step, (x, y) in enumerate(loader):\n    loss = model(x, y)\n    optimizer.zero_grad()\n"
    "    loss.backward()\n    optimizer.step()\n    if step % 500 == 0:\n        print(validate())\n{back}"
)

RULE = Rule(
    code="E108",
    name="evaluation-mode-left-on",
    severity="error",
    message="`eval()` here is never undone before training continues: dropout stays off, and batch norm is "
    "frozen",
    why="The mode of a module stays until it is set again. After the first validation the model trains "
    "without dropout, and batch norm uses its running statistics: the run is regularised up to there "
    "only, and overfits after it.",
    evidence=(
        Maintainer(
            "https://github.com/aws-samples/amazon-codeguru-python-detectors/pull/64",
            "A detector for the missing mode, with a compliant and a noncompliant example.",
            opened=False,
        ),
        Arithmetic("Validated every 500 of 100,000 steps, 99.5% of the run has a dropout of 0."),
    ),
    fix=Fix(
        "call `{model}.train()` after the evaluation, or at the start of each epoch and after each "
        "evaluation in it"
    ),
    bad=Example("train.py", _SCRIPT.format(back="")),
    good=Example("train.py", _SCRIPT.format(back="        model.train()\n")),
    symptoms=(
        "overfits",
        "training loss falls too fast after the first validation",
        "worse after the first evaluation",
        "model is never switched back to train mode",
        "dropout is off after the first evaluation",
        "validation changes the training",
        "loss curve changes after the first evaluation",
        "overfits after the first evaluation",
    ),
)


_WITH_MODES = (
    "Dropout", "BatchNorm", "LazyBatchNorm", "SyncBatchNorm", "InstanceNorm", "AlphaDropout", "DropPath", "dropout",
    "Transformer", "MultiheadAttention", "LSTM", "GRU",
)  # fmt: skip
"""Layers that differ between the modes."""


def has_modes(flow: Flow) -> bool:
    """Whether a script shows a layer that differs between the modes, or a part of a model that cannot be seen."""
    for event in flow.events:
        if event.kind != "call":
            continue
        value = event.value
        if event.name.startswith(_WITH_MODES) or event.name == "from_pretrained":
            return True
        is_inside = any(
            block.kind == "function" and block.value is not None and block.value.name == "__init__"
            for block in event.path
        )
        is_unseen = value.made == "call" and value.of is None and not value.name.startswith("torch.")
        if value.name.startswith(("torchvision.models.", "timm.")) or (
            is_inside and is_unseen and "." in value.name
        ):
            return True
    return False


def check(run: Description) -> Iterator[Diagnosis]:
    """Goes round each training loop from an `eval()` of the model whose weights are stepped to the next backward pass;
    modes that one branch sets each way, and modes set from a variable, are left in peace."""
    flow = flow_of(run.document)
    if not flow.is_whole:
        return
    reported: set[object] = set()
    for loop in training_loops(flow):
        if not any(is_step(event) for event in loop.events) and not any(True for _ in loop.called("step")):
            continue
        around = [block for block in loop.backward.path if block.kind in ("for", "while")]
        for block in around:
            for event in _left_on(flow, block):
                model = root(event.subject)
                is_seen = model is not None and (model.made == "object" or model.name.startswith("torch.nn."))
                if event.place not in reported and (not is_seen or has_modes(flow)):
                    reported.add(event.place)
                    yield RULE.at(event.place, model=(model.label if model is not None else "") or "model")
    if (
        not reported
        and not says(run.document, ".training", "train_mode", "set_mode")
        and _only_restores(run, flow)
    ):
        for event in _left_on_by_method(flow):
            yield RULE.at(event.place, severity="warning", model=event.subject.label or "model")  # type: ignore[union-attr]
            return


def _only_restores(run: Description, flow: Flow) -> bool:
    """Whether each `train()` in the file follows an `eval()` in the same function, so that none starts training."""
    seen = {event.place for event in flow.named("train") if event.path and _is_behind_off(flow, event)}
    return len(seen) == sum(text.count(".train(") for text in (run.document.text, *flow.texts))


def _is_behind_off(flow: Flow, on: Event) -> bool:
    function = next((block for block in reversed(on.path) if block.kind == "function"), None)
    return function is not None and any(
        event.kind == "call"
        and event.name == "eval"
        and event.index < on.index
        and not event.value.args
        and root(event.subject) is root(on.subject)
        for event in flow.inside(function)
    )


def _left_on_by_method(flow: Flow) -> Iterator[Event]:
    """One method of a class switches the model of its object off, another one trains it, and nothing in the file ever
    switches it on: whoever calls both in turn trains in evaluation mode."""
    trained: dict[int, Block] = {}
    for loop in training_loops(flow):
        block = loop.backward.path[0]
        if block.kind == "function" and any(is_step(event) for event in loop.events):
            for event in loop.events:
                of = event.value.of if event.kind == "call" and event.index < loop.backward.index else None
                if of is not None:
                    model = root(of.fields.get(event.value.name) or of)
                    trained[id(model)] = block
    for event in flow.named("eval"):
        block = event.path[0] if event.path else None
        model = root(event.subject)
        if block is None or model is None:
            continue
        is_method = block.kind == "function" and not event.value.args
        if not is_method or id(model) not in trained or trained[id(model)] is block or _other_object(event):
            continue
        later = [each for each in flow.inside(block) if each.index > event.index and each.kind == "call"]
        is_undone = any(_is_on(each, model) and root(each.subject) is model for each in later)
        if not is_undone and not any(each.name == "backward" for each in flow.inside(block)):
            yield event


def _left_on(flow: Flow, block: Block) -> Iterator[Event]:
    inside = [event for event in flow.inside(block) if event.kind == "call"]
    trained = _trained(inside)
    for at, event in enumerate(inside):
        if not _is_off(event) or root(event.subject) not in trained or _is_toggled(event, inside):
            continue
        if (
            _other_object(event)
            or _is_second(event, inside)
            or any(each.is_left for each in event.below(block))
        ):
            continue
        if _is_switched_for_another(inside[at + 1 :], root(event.subject)):
            continue
        turn = [*inside[at + 1 :], *inside[:at]]
        if _first_is_backward(turn, root(event.subject)):
            yield event


def _is_switched_for_another(rest: list[Event], model: Value | None) -> bool:
    """Whether the model is off for the backward pass of another one, and on again before a later one of its own."""
    switched = next(
        (at for at, each in enumerate(rest) if _is_on(each, model) and root(each.subject) is model), None
    )
    return switched is not None and any(each.name == "backward" for each in rest[switched:])


def _trained(inside: list[Event]) -> list[Value | None]:
    """Models that a backward pass may belong to: those that are called with gradients in the loop."""
    from trimtab.checks.read.flow.roles import without_gradients

    called = [
        root(event.value.of)
        for event in inside
        if event.value.of is not None and not without_gradients(event)
    ]
    return [value for value in called if value is not None]


def _is_off(event: Event) -> bool:
    if event.name == "eval":
        return event.subject is not None and not event.value.args
    return event.name == "train" and bool(event.value.args) and event.value.args[0].constant is False


def _is_on(event: Event, model: Value | None) -> bool:
    if model is not None and event.name.startswith("train_") and root(event.subject) is model:
        return True  # a method of the model that switches what it trains
    if event.name not in ("train", "set_train", "set_training_mode", "training_mode"):
        return False
    return not (event.name == "train" and event.value.args and event.value.args[0].constant is False)


def _is_toggled(event: Event, inside: list[Event]) -> bool:
    """Whether another branch of the same `if` sets the other mode: `if phase == "train"`."""
    numbers = {block.statement for block in event.path if block.kind in ("if", "else")} - {0}
    return any(
        _is_on(other, None)
        and any(block.statement in numbers and block not in event.path for block in other.path)
        for other in inside
    )


def _other_object(event: Event) -> bool:
    """A model that is part of another, or a teacher: switched off on purpose."""
    label = (event.subject.label or event.subject.name).lower() if event.subject is not None else ""
    return any(
        word in label
        for word in ("teacher", "ema", "ref", "target", "frozen", "vae", "encoder", "clip", "best")
    )


def _is_second(event: Event, inside: list[Event]) -> bool:
    """Whether the loop switches training on for another model and never for this one, which then only helps."""
    model = root(event.subject)
    trained = [root(other.subject) for other in inside if _is_on(other, None)]
    return bool(trained) and not any(other is model for other in trained)


def _first_is_backward(turn: list[Event], model: Value | None) -> bool:
    for event in turn:
        if _is_on(event, model):
            return False
        if event.name in ("backward", "manual_backward"):
            return True
    return False
