"""S168 all-weights-frozen"""

from collections.abc import Iterator

from trimtab.checks.code_text import says
from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic
from trimtab.checks.read.flow.loops import stepped, training_loops
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import options, root
from trimtab.checks.read.flow.values import Event, Flow, Value, walk
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nimport torchvision\nmodel = torchvision.models.resnet18(weights='DEFAULT')\n{early}"
    "for parameter in model.parameters():\n    parameter.requires_grad = False\n{late}"
    "optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)\nfor x, y in loader:\n    optimizer.zero_grad()\n"
    "    torch.nn.functional.cross_entropy(model(x), y).backward()\n    optimizer.step()\n"
)
_HEAD = "model.fc = torch.nn.Linear(512, 10)\n"

RULE = Rule(
    code="S168",
    name="all-weights-frozen",
    severity="error",
    message="every weight of `{model}` is frozen, and no layer is added or unfrozen afterwards: there is nothing to "
    "train",
    why="A loop over `parameters()` freezes all that the model has at that moment, a new head too. The loss then "
    "has no "
    "gradient, and `backward()` raises RuntimeError.",
    evidence=(
        Arithmetic("torch 2.13: 'element 0 of tensors does not require grad and does not have a grad_fn'."),
    ),
    fix=Fix("freeze first and create the head afterwards, or unfreeze it with `requires_grad_(True)`"),
    bad=Example("train.py", _SCRIPT.replace("{early}", _HEAD).replace("{late}", "")),
    good=Example("train.py", _SCRIPT.replace("{early}", "").replace("{late}", _HEAD)),
    tips=("S2-30",),
    symptoms=(
        "element 0 of tensors does not require grad and does not have a grad_fn",
        "new head is not trained",
        "weights are the same before and after optimizer.step()",
    ),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """A model all of whose parameters a loop freezes without a test, nothing of which is set or thawed later, and whose
    parameters are all that an optimizer of a training loop has."""
    if says(
        run.document, "get_peft_model", "requires_grad_(True)", "requires_grad = True", "requires_grad=True"
    ):
        return
    flow = flow_of(run.document)
    if not flow.is_whole:
        return
    for event in flow.sets("requires_grad"):
        model = _frozen(event)
        if model is None or _changes(flow, model, event):
            continue
        for loop in training_loops(flow):
            for step in loop.steps():
                if _has_only(stepped(step), model):
                    yield RULE.at(event.place, model=model.label or "model")
                    return


def _frozen(event: Event) -> Value | None:
    """The model whose parameters a plain loop freezes."""
    subject = event.subject
    if (
        event.value.constant is not False
        or subject is None
        or any(each.kind in ("if", "else") for each in event.path)
    ):
        return None
    if subject.made != "element" or subject.of is None or subject.of.name != "parameters":
        return None
    model = root(subject.of.of)
    return model if model is not None and model.made in ("call", "object") else None


def _changes(flow: Flow, model: Value, frozen: Event) -> bool:
    """Whether anything is set on the model or on a part of it, or thawed, behind the loop."""
    for event in flow.events:
        if event.index <= frozen.index:
            continue
        if event.kind == "set" and any(each is model for each in walk(event.subject, most=12)):
            return True
        if event.kind == "call" and event.name in ("add_module", "requires_grad_", "train_only", "unfreeze"):
            return True
    return False


def _has_only(optimizer: Value | None, model: Value) -> bool:
    """Whether an optimizer has the parameters of this model and of nothing else."""
    made = options(optimizer)
    given = made[0].argument(0, "params") if len(made) == 1 and made[0].made == "call" else None
    if given is None or given.name != "parameters":
        return False
    whole = given.of
    for _ in range(4):  # `model.fc.parameters()`
        if whole is None or root(whole) is model:
            break
        is_part = whole.made in ("attribute", "call") and any(each is whole for each in model.fields.values())
        whole = model if is_part else whole.of if whole.made == "attribute" else None
    return whole is not None and root(whole) is model
