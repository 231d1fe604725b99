"""P306 value-read-at-every-step"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.read.flow.loops import training_loops
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.values import walk
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nmodel = torch.compile(model.cuda())\noptimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)\n"
    "for step, (x, y) in enumerate(loader):\n    loss = torch.nn.functional.cross_entropy(model(x), y)\n"
    "    loss.backward()\n    optimizer.step()\n    optimizer.zero_grad()\n{when}print(step, loss.item())\n"
)

RULE = Rule(
    code="P306",
    name="value-read-at-every-step",
    severity="note",
    message="a value is printed from the GPU in every step: the script waits for the GPU each time",
    why="`.item()` returns when the GPU has finished all that was started before. Nothing is queued ahead then, "
    "and short steps "
    "take as long as their launches.",
    evidence=(
        Maintainer(
            "https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide",
            "'Avoid unnecessary CPU-GPU synchronization': print(cuda_tensor) and cuda_tensor.item() are among "
            "what does it.",
        ),
        Arithmetic(
            "The value of a tensor on a GPU exists once every kernel before it has run: whoever reads it waits for all "
            "of them, and the GPU then waits for the next launch."
        ),
    ),
    fix=Fix("add up on the GPU, and print every 100 steps", safety="same training"),
    bad=Example("train.py", _SCRIPT.format(when="    ")),
    good=Example("train.py", _SCRIPT.format(when="    if step % 100 == 0:\n        ")),
    symptoms=(
        "loss.item() in every step slows training",
        "GPU utilisation is low",
        "training is slow",
        "calling loss.item() every step is slow",
    ),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """A `print` of `.item()` straight in the loop of a script that takes trouble over speed: it compiles its model."""
    flow = flow_of(run.document)
    if not any(event.value.name == "torch.compile" for event in flow.named("compile")):
        return
    for loop in training_loops(flow):
        for event in loop.called("print"):
            inside = [block for block in event.below(loop.block) if block.kind != "with"]
            reads = any(each.made == "call" and each.name == "item" for each in walk(event.value, most=40))
            if not inside and reads:
                yield RULE.at(event.place)
                return
