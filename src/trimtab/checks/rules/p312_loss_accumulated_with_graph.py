"""P312 loss-accumulated-with-graph"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.read.flow.loops import Loop, training_loops
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import options, without_gradients
from trimtab.checks.read.flow.values import Event, Value
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nmodel = torch.nn.Linear(8, 2)\noptimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)\n"
    "total = 0\n"
    "for x, y in loader:\n    optimizer.zero_grad()\n    loss = torch.nn.functional.cross_entropy(model(x), y)\n"
    "    loss.backward()\n    optimizer.step()\n    total += {loss}\n"
)

RULE = Rule(
    code="P312",
    name="loss-accumulated-with-graph",
    severity="warning",
    message="`{loss}` is {how} with its graph: memory grows with every batch",
    why="A sum of losses that require gradients is a node of a graph that reaches back to the first batch. "
    "`backward()` is never called on it, so the graph cannot be freed while the sum lives.",
    evidence=(
        Maintainer(
            "https://docs.pytorch.org/docs/stable/notes/faq.html",
            "'Don't accumulate history across your training loop. ... total_loss is accumulating history across your "
            "training loop, since loss is a differentiable variable with autograd history.'",
        ),
    ),
    fix=Fix("add `{loss}.detach()`, and call `.item()` only when you log it"),
    bad=Example("train.py", _SCRIPT.replace("{loss}", "loss")),
    good=Example("train.py", _SCRIPT.replace("{loss}", "loss.detach()")),
    symptoms=(
        "memory grows with every batch",
        "CUDA out of memory after some epochs",
        "memory leak",
        "GPU memory grows with every iteration",
        "memory leak in the training loop",
        "out of memory after many steps",
        "total += loss",
        "losses.append(loss)",
    ),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """A loss that went backward already and is then added to a sum, or to a list."""
    flow = flow_of(run.document)
    for loop in training_loops(flow):
        for event in loop.events:
            if event.kind != "add" or len(event.value.args) != 2 or event.index < loop.backward.index:
                continue
            loss = event.value.args[1]
            went = loop.backward.subject
            is_same = loss is went and loss.made not in ("parameter", "unknown")
            if (is_same or _gives_back(loss, went)) and not without_gradients(event):
                yield RULE.at(event.place, loss=loss.label or "loss", how="added up")
                return
        for event in loop.called("append"):
            if (
                event.index > loop.backward.index
                and _is_kept(event, loop, run.document.text)
                and not without_gradients(event)
            ):
                yield RULE.at(event.place, loss=loop.backward.subject.label or "loss", how="kept in a list")  # type: ignore[union-attr]
                return


def _gives_back(value: Value, went: Value | None) -> bool:
    """Whether a method of the file goes backward and gives the loss back as it is: `total += self.training_step(x)`."""
    if went is not None and went.made == "call" and went.name == "scale" and went.args:
        went = went.args[0]
    known = [each for each in options(went) if each.made in ("call", "binary", "item", "attribute")]
    return any(one is each for one in (value, *options(value)) for each in known)


def _is_kept(event: Event, loop: Loop, text: str) -> bool:
    """Whether a list that lives longer than a turn gets the loss, or what has it in it: `outputs.append(output)`."""
    loss, held = loop.backward.subject, event.subject
    if loss is None or held is None or loss.made not in ("call", "binary", "item", "attribute"):
        return False
    if held.made != "list" or held.index > loop.events[0].index or len(event.value.args) != 1:
        return False
    first = loop.block.place.line if loop.block.place is not None else event.place.line
    if any(f"{held.label} = " in line for line in text.split("\n")[first - 1 : event.place.line]):
        return False  # a new list in each turn
    if event.value.args[0] is loss:
        return True
    is_replaced = any(
        each.kind == "set"
        and each.name == "[]"
        and each.subject is loss.of
        and each.index > loop.backward.index
        for each in loop.events
    )
    return loss.made == "item" and event.value.args[0] is loss.of and not is_replaced
