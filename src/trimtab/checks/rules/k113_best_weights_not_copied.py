"""K113 best-weights-not-copied"""

from collections.abc import Iterator
from typing import Final

from trimtab.checks.code_text import says
from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.read.flow.loops import training_loops
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import forwards, options, root
from trimtab.checks.read.flow.values import Block, Event, Flow, Value
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import copy\nimport torch\nmodel = torch.nn.Linear(8, 2)\noptimizer = torch.optim.AdamW(model.parameters(), "
    "lr=3e-4)\n"
    "best = 0.0\nfor epoch in range(10):\n    for x, y in loader:\n        optimizer.zero_grad()\n"
    "        torch.nn.functional.cross_entropy(model(x), y).backward()\n        optimizer.step()\n"
    "    accuracy = evaluate(model)\n    if accuracy > best:\n        best, best_weights = accuracy, {kept}\n"
    "model.load_state_dict(best_weights)\n"
)

RULE = Rule(
    code="K113",
    name="best-weights-not-copied",
    severity="error",
    message="`{kept}` is a reference to the live weights, not a copy: at the end it holds the last epoch, not the best",
    why="`state_dict()` gives references to the parameters, and so do `.copy()` of that dictionary and another name "
    "for the model. Each later step changes the tensors in place, also those that were kept.",
    evidence=(
        Maintainer(
            "https://docs.pytorch.org/tutorials/beginner/saving_loading_models.html",
            "'best_model_state = model.state_dict() returns a reference to the state and not its copy! You must "
            "serialize best_model_state or use best_model_state = deepcopy(model.state_dict())'",
        ),
        Maintainer(
            "https://github.com/WenjieDu/PyPOTS/issues/667",
            "'Otherwise the best model keeps getting updated': different results although the best epoch is the same.",
        ),
        Arithmetic(
            "In torch 2.13 `state_dict()['weight'].data_ptr()` and `.copy()`'s equal that of the parameter."
        ),
    ),
    fix=Fix("copy it: `copy.deepcopy(model.state_dict())`, or save it to a file"),
    bad=Example("train.py", _SCRIPT.replace("{kept}", "model.state_dict()")),
    good=Example("train.py", _SCRIPT.replace("{kept}", "copy.deepcopy(model.state_dict())")),
    symptoms=(
        "best model is the same as the last one",
        "best checkpoint is no better than the last epoch",
        "early stopping restores the wrong weights",
        "best model is identical to the last one",
    ),
)

_SAVES: Final = ("save", "save_pretrained", "save_model", "save_checkpoint")


def check(run: Description) -> Iterator[Diagnosis]:
    """A state of a trained model that the loop over epochs keeps, or the model itself under a name with "best"."""
    if not says(run.document, "best", "load_state_dict"):
        return
    flow = flow_of(run.document)
    event = _of_callback(flow)
    if event is not None:
        yield RULE.at(event.place, kept=event.name)
        return
    for loop in training_loops(flow):
        path = loop.backward.path
        at = next((i for i, block in enumerate(path) if block is loop.block), 0)
        epochs = next((block for block in reversed(path[:at]) if block.kind in ("for", "while")), None)
        if epochs is None:
            continue
        trained = {id(root(event.value.of)) for event in forwards(list(loop.events))}
        event = next(iter(_kept(flow, epochs, trained)), None)
        if event is not None:
            yield RULE.at(event.place, kept=event.name if event.kind != "call" else "state_dict()")
            return


def _kept(flow: Flow, epochs: Block, trained: set[int]) -> Iterator[Event]:
    for event in (*flow.each("name"), *flow.each("set"), *flow.named("state_dict")):
        if not event.within(epochs) or _is_saved(flow, event):
            continue
        if event.kind in ("set", "name") and "best" in event.name.lower():
            is_model = event.value.made != "attribute" and id(root(event.value)) in trained
            if _is_state(event.value) or is_model:
                yield event
        elif event.kind == "call" and event.name == "state_dict" and _is_loaded_behind(flow, event, epochs):
            yield event


def _of_callback(flow: Flow) -> Event | None:
    """Where an object keeps a state when a comparison holds, and elsewhere loads it back: early stopping."""
    for event in flow.each("set"):
        if not _is_state(event.value) or event.value.of is None:
            continue
        tested = [block for block in event.path if block.kind == "if" and block.value is not None]
        if not tested or _is_saved(flow, event):
            continue
        for load in flow.named("load_state_dict"):
            is_back = any(each is event.value for given in load.value.args for each in options(given))
            if is_back and load.subject is event.value.of and not load.within(tested[-1]):
                return event
    return None


def _is_state(value: Value) -> bool:
    if value.made == "call" and value.name == "copy" and value.of is not None:
        value = value.of  # a shallow copy of the dictionary
    return value.made == "call" and value.name == "state_dict" and value.of is not None and not value.args


def _is_loaded_behind(flow: Flow, state: Event, epochs: Block) -> bool:
    """Whether the model gets back, behind the loop, what it had at an earlier epoch."""
    for load in flow.named("load_state_dict"):
        if load.index < state.index or load.within(epochs) or root(load.subject) is not root(state.subject):
            continue
        if any(each is state.value for given in load.value.args for each in options(given)):
            return True
    return False


def _is_saved(flow: Flow, event: Event) -> bool:
    """Whether the same branch writes a file, which is a copy."""
    return any(
        save.index > event.index and save.path[: len(event.path)] == event.path
        for save in flow.named(*_SAVES)
    )
