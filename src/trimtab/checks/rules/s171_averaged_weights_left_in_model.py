"""S171 averaged-weights-left-in-model"""

from collections.abc import Iterator

from trimtab.checks.code_text import may_say
from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.read.flow.loops import Loop, training_loops
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import root
from trimtab.checks.read.flow.values import Block, Event, Flow, walk
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nfrom diffusers.training_utils import EMAModel\nmodel = torch.nn.Linear(8, 2)\n"
    "optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)\nema = EMAModel(model.parameters())\n"
    "for epoch in range(10):\n    for x, y in loader:\n        optimizer.zero_grad()\n"
    "        torch.nn.functional.cross_entropy(model(x), y).backward()\n        optimizer.step()\n"
    "        ema.step(model.parameters())\n    ema.store(model.parameters())\n    ema.copy_to(model.parameters())\n"
    "    validate(model)\n{restore}"
)

RULE = Rule(
    code="S171",
    name="averaged-weights-left-in-model",
    severity="error",
    message="`{name}.copy_to` puts the averaged weights into the model, and training continues from them",
    why="To evaluate averaged weights in the model, a script stores the model's own weights first and restores them "
    "afterwards. Without `restore` the next step starts from the average, with the optimizer state of other weights.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/diffusers/pull/7599",
            "Adds the missing `ema_unet.restore(unet.parameters())` after the validation.",
        ),
    ),
    fix=Fix("call `{name}.restore(...)` after the evaluation"),
    bad=Example("train.py", _SCRIPT.replace("{restore}", "")),
    good=Example("train.py", _SCRIPT.replace("{restore}", "    ema.restore(model.parameters())\n")),
    symptoms=(
        "loss jumps after each validation with EMA",
        "training gets worse after an evaluation of the averaged weights",
        "EMA weights replace the model",
    ),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """A `store` and `copy_to` of an average in the loop over batches or epochs, and nowhere a `restore`; a warning
    where a condition decides whether they run."""
    if not may_say(run.document, ".copy_to("):
        return
    flow = flow_of(run.document)
    if not flow.is_whole or any(True for _ in flow.named("restore")):
        return
    for loop in training_loops(flow):
        copied = _unrestored_copy(flow, loop)
        if copied is not None:
            name = copied.subject.label if copied.subject is not None else ""
            severity = "warning" if _conditions(copied, loop) else "error"
            yield RULE.at(copied.place, name=name or "ema", severity=severity)
            return


def _unrestored_copy(flow: Flow, loop: Loop) -> Event | None:
    around = _around(loop)
    for store in flow.named("store"):
        for copy in flow.named("copy_to"):
            is_pair = root(store.subject) is root(copy.subject) and store.path == copy.path
            is_inside = any(id(block) in around for block in copy.path)
            if is_pair and is_inside and not any(_ends_training(block) for block in _conditions(copy, loop)):
                return copy
    return None


def _around(loop: Loop) -> set[int]:
    return {id(block) for block in loop.backward.path if block.kind in ("for", "while")}


def _conditions(event: Event, loop: Loop) -> list[Block]:
    """The branches between the outermost loop of the training and an event."""
    around = _around(loop)
    first = next((at for at, block in enumerate(event.path) if id(block) in around), len(event.path))
    return [block for block in event.path[first:] if block.kind in ("if", "else")]


def _ends_training(branch: Block) -> bool:
    """Whether a branch leaves the loop, or is taken from one turn on, `epoch == epochs - 1`, and not every so many."""
    if branch.is_left:
        return True
    parts = list(walk(branch.value))
    is_at_one = any(
        each.made == "compare"
        and each.name in ("Eq", "GtE", "Gt")
        and not any(side.constant == 0 or isinstance(side.constant, str) for side in each.args)  # `rank == 0`
        for each in parts
    )
    is_named = any(part in (each.label or each.name).lower() for each in parts for part in ("last", "final"))
    is_repeated = any(each.made == "binary" and each.name == "%" for each in parts)
    return (is_at_one or is_named) and not is_repeated
