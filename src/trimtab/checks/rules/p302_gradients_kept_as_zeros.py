"""P302 gradients-kept-as-zeros"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.own_key import calls_of, literal
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\noptimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)\nfor batch in loader:\n"
    "    optimizer.zero_grad({argument})\n    model(batch).loss.backward()\n    optimizer.step()\n"
)

RULE = Rule(
    code="P302",
    name="gradients-kept-as-zeros",
    severity="note",
    message="`zero_grad(set_to_none=False)` keeps every gradient in memory as zeros",
    why="The default since PyTorch 2.0 frees them until the next backward, which is smaller at the peak of "
    "the forward and writes less. Parameters that get no gradient in a step are then left alone by the "
    "optimizer, instead of decaying and moving on with their momentum. Code that reads `p.grad` has to "
    "expect None.",
    evidence=(
        Maintainer(
            "https://github.com/pytorch/pytorch/blob/v2.13.0/torch/optim/optimizer.py",
            "`set_to_none`: 'will in general have lower memory footprint, and can modestly improve "
            "performance'; the optimizer skips a gradient of None and steps with a gradient of 0.",
        ),
    ),
    fix=Fix("write `zero_grad()`"),
    bad=Example("train.py", _SCRIPT.format(argument="set_to_none=False")),
    good=Example("train.py", _SCRIPT.format(argument="")),
    aliases=("ZERO001",),
    tips=("S2-19",),
    symptoms=("out of memory",),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where a script says so."""
    for call in calls_of(run, "zero_grad"):
        if literal(call, "set_to_none") is False or call.positional == (False,):
            yield RULE.at(call.place)
