"""P312 loss-accumulated-with-graph"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.read.flow.loops import training_loops
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import without_gradients
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
    message="`{loss}` is added up with its graph: memory grows with every batch",
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
    ),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """A loss that went backward already and is then added to a sum."""
    flow = flow_of(run.document)
    for loop in training_loops(flow):
        for event in loop.events:
            if event.kind != "add" or len(event.value.args) != 2 or event.index < loop.backward.index:
                continue
            loss = event.value.args[1]
            is_same = loss is loop.backward.subject and loss.made not in ("parameter", "unknown")
            if is_same and not without_gradients(event):
                yield RULE.at(event.place, loss=loss.label or "loss")
                return
