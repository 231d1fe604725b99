"""S316 fp16-autocast-without-scaler"""

from collections.abc import Iterator

from trimtab.checks.code_text import says
from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.read.flow.half import HANDLED, half_blocks
from trimtab.checks.read.flow.loops import training_loops
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import without_gradients
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\noptimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)\nfor x, y in loader:\n"
    '    with torch.autocast("cuda", dtype={dtype}):\n'
    "        loss = torch.nn.functional.cross_entropy(model(x), y)\n"
    "    optimizer.zero_grad()\n    loss.backward()\n    optimizer.step()\n"
)

RULE = Rule(
    code="S316",
    name="fp16-autocast-without-scaler",
    severity="warning",
    message="the forward pass runs under fp16 autocast, and the loss is not scaled: small gradients become 0",
    why="Gradients of fp16 products are fp16 too, and what is below 6e-8 is 0 there. A GradScaler multiplies the loss "
    "so that gradients stay in range, and skips the steps in which they overflow. Without it deep "
    "layers learn slowly or "
    "not at all, and nothing says so.",
    evidence=(
        Maintainer(
            "https://docs.pytorch.org/docs/stable/amp.html",
            "'If the forward pass for a particular op has float16 inputs, the backward pass for that op will produce "
            "float16 gradients. Gradient values with small magnitudes may not be representable in float16.'",
        ),
        Arithmetic(
            "The smallest positive fp16 is 2**-24 = 6e-8; gradients of a mean over 1e5 tokens are often below."
        ),
    ),
    fix=Fix(
        "use `dtype=torch.bfloat16` where the GPU has it, else `torch.amp.GradScaler` with `scaler.scale(loss)`"
    ),
    bad=Example("train.py", _SCRIPT.format(dtype="torch.float16")),
    good=Example("train.py", _SCRIPT.format(dtype="torch.bfloat16")),
    symptoms=(
        "loss flat",
        "fp16 trains worse than fp32",
        "gradients are zero in fp16",
        "GradScaler is missing",
        "gradients underflow without GradScaler",
    ),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """A loop that steps, with a forward pass under fp16 autocast and gradients, in a script that scales nowhere."""
    flow = flow_of(run.document)
    if run.document.imports & HANDLED or says(
        run.document, "GradScaler", "scaler", "set_autocast_", "loss_scale"
    ):
        return
    for loop in training_loops(flow):
        if not any(True for _ in loop.steps()):
            continue
        for event in loop.events:
            is_forward = (
                event.kind == "call" and event.index < loop.backward.index and event.value.of is not None
            )
            if is_forward and half_blocks(event) and not without_gradients(event):
                yield RULE.at(event.place)
                return
