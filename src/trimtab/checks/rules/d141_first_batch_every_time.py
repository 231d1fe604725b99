"""D141 first-batch-every-time"""

from collections.abc import Iterator

from trimtab.checks.code_text import says
from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic
from trimtab.checks.read.flow.loops import training_loops
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.values import Block, Event
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule
from trimtab.finding import Severity

RULE = Rule(
    code="D141",
    name="first-batch-every-time",
    severity="warning",
    message="`next(iter({loader}))` restarts the loader in each step: {effect}",
    why="`iter()` on a DataLoader begins an epoch, with new workers and a new order. If every step calls "
    "it, nothing after the first batch is ever read.",
    evidence=(
        Arithmetic(
            "Without shuffling the first batch is the same each time; with it, 10,000 steps read 10,000 "
            "first batches, and each starts all workers."
        ),
    ),
    fix=Fix("make the iterator once, before the loop, or loop over the loader"),
    bad=Example(
        "train.py",
        "import torch\nfrom net import Net\n"
        "net, loader = Net(), torch.utils.data.DataLoader(data, batch_size=32)\n"
        "optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)\nfor step in range(10000):\n"
        "    x, y = next(iter(loader))\n    optimizer.zero_grad()\n"
        "    torch.nn.functional.cross_entropy(net(x), y).backward()\n    optimizer.step()\n",
    ),
    good=Example(
        "train.py",
        "import torch\nfrom net import Net\n"
        "net, loader = Net(), torch.utils.data.DataLoader(data, batch_size=32)\n"
        "optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)\nbatches = iter(loader)\n"
        "for step in range(10000):\n    x, y = next(batches)\n    optimizer.zero_grad()\n"
        "    torch.nn.functional.cross_entropy(net(x), y).backward()\n    optimizer.step()\n",
    ),
    symptoms=("overfits on one batch", "training is slow", "GPU is not busy"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """A training loop that takes its batch from a new iterator over a DataLoader of torch."""
    flow = flow_of(run.document)
    if says(run.document, "overfit", "profile"):
        return
    for loop in training_loops(flow):
        for event in loop.called("next"):
            made = event.value.args[0] if len(event.value.args) == 1 else None
            if made is None or made.made != "call" or made.name != "iter" or len(made.args) != 1:
                continue
            loader = made.args[0]
            is_inside = any(each.value is made for each in loop.events) and _is_straight(event, loop.block)
            if (
                not is_inside
                or loader.name != "torch.utils.data.DataLoader"
                or not any(True for _ in loop.steps())
            ):
                continue
            shuffle = loader.argument(2, "shuffle")
            is_shuffled = (
                loader.has_rest
                or "sampler" in loader.keywords
                or (shuffle is not None and shuffle.constant is not False)
            )
            effect = (
                "workers start each time, and most of an epoch is never read"
                if is_shuffled
                else "every step sees the first batch"
            )
            severity: Severity | None = None if is_shuffled else "error"
            yield RULE.at(event.place, severity=severity, loader=loader.label or "loader", effect=effect)
            return


def _is_straight(event: Event, loop: Block) -> bool:
    """Whether it happens in every turn, and not in a function or a branch."""
    return all(block.kind == "with" for block in event.below(loop))
