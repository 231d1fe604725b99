"""D125 seed-at-every-epoch"""

from collections.abc import Iterator
from typing import Final

from trimtab.checks.description import Description
from trimtab.checks.document import UNKNOWN
from trimtab.checks.evidence import Arithmetic
from trimtab.checks.read.flow.loops import training_loops
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import innermost_loop, is_optimizer
from trimtab.checks.read.flow.values import Block, Event, Flow
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nmodel = torch.nn.Linear(8, 2)\noptimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)\n"
    "for epoch in range(10):\n    torch.manual_seed({seed})\n    for x, y in loader:\n        optimizer.zero_grad()\n"
    "        torch.nn.functional.cross_entropy(model(x), y).backward()\n        optimizer.step()\n"
)

RULE = Rule(
    code="D125",
    name="seed-at-every-epoch",
    severity="warning",
    message="`{call}({seed})` inside the loop resets the random state: every {turn} repeats the same shuffling, "
    "augmentation and dropout",
    why="The order of a shuffled loader and the noise of an epoch come from the global generator. Set to the "
    "same seed at "
    "each turn it gives the same numbers each time, so that an example always meets the same neighbours and the same "
    "augmentation.",
    evidence=(Arithmetic("A generator is a function of its seed: with one seed it gives one sequence."),),
    fix=Fix("seed once before the loop, or with the number of the epoch"),
    bad=Example("train.py", _SCRIPT.replace("{seed}", "0")),
    good=Example("train.py", _SCRIPT.replace("{seed}", "epoch")),
    symptoms=("data order is the same in every epoch", "augmentation repeats", "overfits"),
)
_SEEDS: Final = ("manual_seed", "manual_seed_all", "seed", "set_seed", "seed_everything")
_NAMES: Final = (
    "torch.",
    "numpy.",
    "random.",
    "transformers.",
    "accelerate.",
    "lightning.",
    "pytorch_lightning.",
)


def check(run: Description) -> Iterator[Diagnosis]:
    """A seed that is a number of its own, in the loop over epochs or batches; a loop over folds or runs makes its
    model again."""
    flow = flow_of(run.document)
    for loop in training_loops(flow):
        path = loop.backward.path
        at = next((i for i, block in enumerate(path) if block is loop.block), 0)
        epochs = next((block for block in reversed(path[:at]) if block.kind in ("for", "while")), None)
        for event in flow.named(*_SEEDS):
            block = innermost_loop(event)
            if block is None or (block is not epochs and block is not loop.block):
                continue
            if _is_same(event) and not _starts_anew(flow, block) and not event.below(block):
                seed = event.value.args[0].constant
                turn = "epoch" if block is epochs else "batch"
                yield RULE.at(event.place, call=event.value.name, seed=seed, turn=turn)
                return


def _is_same(event: Event) -> bool:
    given = event.value.args[0] if event.value.args else None
    is_theirs = event.value.name.startswith(_NAMES) and event.value.of is None
    return is_theirs and given is not None and given.constant is not UNKNOWN and type(given.constant) is int


def _starts_anew(flow: Flow, block: Block) -> bool:
    return any(is_optimizer(event.value) for event in flow.inside(block) if event.kind == "call")
