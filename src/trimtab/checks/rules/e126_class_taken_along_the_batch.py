"""E126 class-taken-along-the-batch"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import forwards
from trimtab.checks.read.flow.values import Value, walk
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="E126",
    name="class-taken-along-the-batch",
    severity="error",
    message="`argmax({dim})` of a batch of scores finds an example for each class, not a class for each "
    "example",
    why="A classifier's scores have the shape (examples, classes). Along axis 0, `argmax` gives one number "
    "per class; comparing that with labels is wrong, or raises an error if the sizes differ.",
    evidence=(
        Arithmetic(
            "Of scores with the shape (32, 10), `argmax(0)` has 10 entries from 0 to 31, `argmax(1)` 32 "
            "from 0 to 9."
        ),
    ),
    fix=Fix("take `argmax(-1)`"),
    bad=Example(
        "train.py",
        "import torch\nfrom net import Net\nnet = Net()\n"
        "optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)\nfor x, y in loader:\n"
        "    optimizer.zero_grad()\n    torch.nn.functional.cross_entropy(net(x), y).backward()\n"
        "    optimizer.step()\nright = 0\nfor x, y in test_loader:\n    with torch.no_grad():\n"
        "        right += (net(x).argmax(0) == y).sum().item()\n",
    ),
    good=Example(
        "train.py",
        "import torch\nfrom net import Net\nnet = Net()\n"
        "optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)\nfor x, y in loader:\n"
        "    optimizer.zero_grad()\n    torch.nn.functional.cross_entropy(net(x), y).backward()\n"
        "    optimizer.step()\nright = 0\nfor x, y in test_loader:\n    with torch.no_grad():\n"
        "        right += (net(x).argmax(1) == y).sum().item()\n",
    ),
    symptoms=("accuracy stays near chance", "The size of tensor a must match the size of tensor b"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """A comparison of `argmax(0)` of what a model makes of a batch with the labels of the same batch."""
    flow = flow_of(run.document)
    calls: set[int] | None = None
    for event in flow.named("argmax"):
        of = event.value.of if event.value.name == "argmax" else event.value.argument(0, "input")
        dim = event.value.argument(0 if event.value.name == "argmax" else 1, "dim")
        if of is None or dim is None or dim.constant != 0 or type(dim.constant) is not int:
            continue
        calls = calls if calls is not None else {id(each.value) for each in forwards(flow.events)}
        source = of.of if of.made == "attribute" and of.name == "logits" else of
        batch = source.args[0] if source is not None and source.args else None
        if source is not None and id(source) in calls and batch is not None and _is_of_loader(batch):
            yield RULE.at(event.place, dim=0)
            return


def _is_of_loader(batch: Value) -> bool:
    """Whether a value is what a loop takes from something that is called a loader, moved or not."""
    return any(
        each.made == "element" and each.of is not None and _is_loader(each.of) for each in walk(batch, most=8)
    )


def _is_loader(value: Value) -> bool:
    return value.last == "DataLoader" or any(
        word in (value.label or value.name).lower() for word in ("loader", "batches", "_dl")
    )
