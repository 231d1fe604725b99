"""S164 loss-without-a-graph"""

from collections.abc import Iterator
from typing import Final

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import forwards, without_gradients
from trimtab.checks.read.flow.values import Event, Flow, Value, walk
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nmodel = torch.nn.Linear(8, 2)\noptimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)\n"
    "for x, y in loader:\n    optimizer.zero_grad()\n    predicted = model(x){cut}\n"
    "    loss = torch.nn.functional.mse_loss(predicted, y)\n    loss.requires_grad = True\n    loss.backward()\n"
    "    optimizer.step()\n"
)

RULE = Rule(
    code="S164",
    name="loss-without-a-graph",
    severity="error",
    message="`{cut}` detaches the loss from the model: no gradient flows through it, and `requires_grad` on the loss "
    "only silences the error",
    why="`argmax`, `item()`, `detach()`, numpy and a new tensor have no gradient. Autograd then says that the "
    "loss does not "
    "require one. With `requires_grad` switched on the loss is a leaf of its own: `backward()` runs, and no "
    "weight gets "
    "anything.",
    evidence=(
        Arithmetic("The derivative of argmax is 0 wherever it exists; `torch.tensor(x)` copies a number."),
        Maintainer(
            "https://docs.pytorch.org/docs/stable/generated/torch.Tensor.detach.html",
            "'Returns a new Tensor, detached from the current graph. The result will never require gradient.'",
        ),
    ),
    fix=Fix("compute the loss from the outputs themselves, and take `requires_grad` on the loss out"),
    bad=Example("train.py", _SCRIPT.replace("{cut}", ".argmax(dim=1).float()")),
    good=Example("train.py", _SCRIPT.replace("{cut}", "").replace("    loss.requires_grad = True\n", "")),
    symptoms=(
        "element 0 of tensors does not require grad and does not have a grad_fn",
        "model learns nothing",
        "all gradients are None",
        "RuntimeError: element 0 of tensors does not require grad",
        "loss.item() before backward",
    ),
)
_CUTS: Final = frozenset({"argmax", "item", "detach", "numpy", "tolist"})
_NEW: Final = frozenset(
    {
        "torch.tensor",
        "torch.Tensor",
        "torch.FloatTensor",
        "torch.from_numpy",
        "torch.as_tensor",
        "torch.argmax",
    }
)


def check(run: Description) -> Iterator[Diagnosis]:
    """A loss with `requires_grad = True` from which no path leads back to the model."""
    flow = flow_of(run.document)
    calls = None
    for event in flow.named("backward"):
        loss = event.subject
        if loss is None or not _is_told(flow, event, loss):
            continue
        if loss.made == "call" and loss.name in _NEW:
            yield RULE.at(event.place, cut=loss.name)  # a new leaf: no way leads from it to anything
            return
        calls = calls if calls is not None else {id(each.value): each for each in forwards(flow.events)}
        cut, is_open = _way(loss, calls)
        if cut and not is_open:
            yield RULE.at(event.place, cut=cut)
            return


def _is_told(flow: Flow, backward: Event, loss: Value) -> bool:
    """Whether the script sets `requires_grad` of the loss itself."""
    for event in flow.sets("requires_grad"):
        if event.subject is loss and event.value.constant is True and event.index < backward.index:
            return True
    if any(event.subject is loss for event in flow.named("requires_grad_")):
        return True
    given = loss.keywords.get("requires_grad") if loss.made == "call" else None
    return given is not None and given.constant is True


def _way(loss: Value, calls: dict[int, Event]) -> tuple[str, bool]:
    """What cuts, where the model lies behind it; and whether a way without a cut may reach the model."""
    cut, waiting, seen = "", [loss], set[int]()
    while waiting:
        each = waiting.pop()
        if id(each) in seen or len(seen) > 200:
            continue
        seen.add(id(each))
        if each.made == "element":
            continue  # data, which no model has made
        if each.made == "call" and (each.name in _CUTS or each.name in _NEW):
            if any(id(one) in calls for one in walk(each, most=80)):
                cut = cut or each.last
            continue
        if id(each) in calls:
            if without_gradients(calls[id(each)]):
                cut = cut or "no_grad"
                continue
            return cut, True
        is_unknown = (
            each.made == "call" and (each.of is None or each.of.made == "unknown") and bool(each.args)
        )
        if is_unknown and not _is_torch(each) and "<returned>" not in each.fields:
            return cut, True  # it may keep the graph
        waiting.extend(each.parts())
    return cut, False


def _is_torch(call: Value) -> bool:
    return call.name.startswith(("torch.", "numpy.", "math.", "float", "sklearn."))
