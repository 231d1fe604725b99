"""S315 scaler-without-autocast"""

from collections.abc import Iterator

from trimtab.checks.code_text import says
from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.read.flow.half import HANDLED, is_off
from trimtab.checks.read.flow.loops import Loop, training_loops
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import options
from trimtab.checks.read.flow.values import Event, walk
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\noptimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)\nscaler = torch.amp.GradScaler()\n"
    "for x, y in loader:\n{autocast}    loss = torch.nn.functional.cross_entropy(model(x), y)\n"
    "    optimizer.zero_grad()\n    scaler.scale(loss).backward()\n    scaler.step(optimizer)\n    scaler.update()\n"
)

RULE = Rule(
    code="S315",
    name="scaler-without-autocast",
    severity="warning",
    message="the loss is scaled for fp16, and nothing runs in fp16: the script enters no autocast",
    why="A GradScaler only multiplies the loss, and divides the gradients again. What is faster and smaller is "
    "autocast, which has to be entered around the forward pass: without it every product runs in fp32, and a step is "
    "skipped now and then for nothing.",
    evidence=(
        Maintainer(
            "https://docs.pytorch.org/docs/stable/amp.html",
            '\'Ordinarily, "automatic mixed precision training" with datatype of torch.float16 uses torch.autocast and '
            "torch.amp.GradScaler together.'",
        ),
        Arithmetic("Scaled by 65,536 and divided by it again, an fp32 gradient is what it was."),
    ),
    fix=Fix(
        'run the forward pass under `with torch.autocast("cuda", dtype=torch.float16):`, or drop the scaler'
    ),
    bad=Example("train.py", _SCRIPT.format(autocast="")),
    good=Example(
        "train.py",
        _SCRIPT.format(autocast='    with torch.autocast("cuda", dtype=torch.float16):\n    ').replace(
            "\n        loss", "\n        loss"
        ),
    ),
    symptoms=("mixed precision is not faster", "AMP saves no memory", "autocast is missing"),
)
_HALF = (
    "autocast",
    "half(",
    "float16",
    "fp16_",
    "MixedPrecision",
    "autocast_mode",
    ".amp.initialize",
    "torch.half",
    "HalfTensor",
)


def check(run: Description) -> Iterator[Diagnosis]:
    """A loop that goes backward through `scaler.scale`, in a script that shows no half precision anywhere, nor calls a
    model of its own folder that cannot be seen and may enter autocast itself."""
    flow = flow_of(run.document)
    if not flow.is_whole or run.document.imports & HANDLED or not training_loops(flow):
        return
    own = any("" in packages for packages in run.document.sources.values())
    if (own and not flow.texts) or says(run.document, *_HALF):
        return
    for loop in training_loops(flow):
        if _is_scaled(loop.backward) and any(True for _ in loop.steps()) and not _is_of_unknown(run, loop):
            yield RULE.at(loop.backward.place)
            return


def _is_of_unknown(run: Description, loop: Loop) -> bool:
    """Whether the backward pass stands in another file, or gets a loss that nobody can see being made."""
    given = loop.backward.subject.argument(0, "outputs") if loop.backward.subject is not None else None
    is_elsewhere = loop.backward.place.path != run.document.path
    return is_elsewhere or not any(each.made == "call" for each in walk(given))


def _is_scaled(backward: Event) -> bool:
    loss = backward.subject
    if loss is None or loss.made != "call" or loss.name != "scale" or loss.of is None:
        return False
    return all(each.last.endswith("GradScaler") and not is_off(each) for each in options(loss.of))
