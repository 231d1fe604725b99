"""E121 drop-last-in-evaluation"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import without_gradients
from trimtab.checks.read.flow.values import Flow, Value, walk
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nfrom torch.utils.data import DataLoader\ntest_loader = DataLoader(test_set, batch_size=64{drop})\n"
    "optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)\nmodel.eval()\nwith torch.no_grad():\n"
    "    for x, y in test_loader:\n        correct += (model(x).argmax(1) == y).sum()\n"
)

RULE = Rule(
    code="E121",
    name="drop-last-in-evaluation",
    severity="note",
    message="`drop_last=True` drops the last, incomplete batch of the evaluation: up to {most} examples are never "
    "scored",
    why="A training loop loses nothing by it, because the next epoch draws others. An evaluation in file order "
    "leaves out the "
    "same examples each time, and with fewer examples than a batch it scores nothing.",
    evidence=(Arithmetic("Of n examples in batches of b the last n mod b are left out, up to b - 1."),),
    fix=Fix("leave `drop_last` out for the evaluation"),
    bad=Example("train.py", _SCRIPT.replace("{drop}", ", drop_last=True")),
    good=Example("train.py", _SCRIPT.replace("{drop}", "")),
    symptoms=("number of predictions is too small", "division by zero in evaluation"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """A loader that keeps the order of its data and is gone over without gradients."""
    flow = flow_of(run.document)
    for event in flow.named("DataLoader"):
        call = event.value
        drop = call.argument(8, "drop_last")
        if drop is None or drop.constant is not True or _is_shuffled(call):
            continue
        if _is_evaluated(flow, call):
            size = call.argument(1, "batch_size")
            is_known = size is not None and type(size.constant) is int
            yield RULE.at(
                event.place, most=size.constant - 1 if is_known and size is not None else "a batch less one"
            )
            return


def _is_shuffled(loader: Value) -> bool:
    given = loader.argument(2, "shuffle")
    return given is not None and given.constant is True


def _is_evaluated(flow: Flow, loader: Value) -> bool:
    for event in flow.events:
        for block in event.path:
            if block.kind == "for" and any(each is loader for each in walk(block.value, most=12)):
                return without_gradients(event)
    return False
