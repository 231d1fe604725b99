"""S318 probabilities-under-autocast"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.values import Event
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="S318",
    name="probabilities-under-autocast",
    severity="error",
    message="`{loss}` raises RuntimeError under autocast on a GPU",
    why="The gradients of a cross entropy of probabilities may not fit into 16 bits, so torch raises an "
    "error. The form that takes the scores before the sigmoid is safe.",
    evidence=(
        Maintainer(
            "https://docs.pytorch.org/docs/stable/amp.html#prefer-binary-cross-entropy-with-logits-over-bina"
            "ry-cross-entropy",
            "'the backward passes of torch.nn.functional.binary_cross_entropy() (and torch.nn.BCELoss, "
            "which wraps it) can produce gradients that aren't representable in float16. In "
            "autocast-enabled regions, the forward input may be float16 [...]. Therefore, "
            "binary_cross_entropy and BCELoss raise an error in autocast-enabled regions.'",
        ),
    ),
    fix=Fix("leave the sigmoid out and use `BCEWithLogitsLoss`"),
    bad=Example(
        "train.py",
        "import torch\nnet = torch.nn.Sequential(torch.nn.Linear(8, 1), torch.nn.Sigmoid()).cuda()\n"
        "criterion = torch.nn.BCELoss()\noptimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)\n"
        "for x, y in loader:\n    with torch.autocast('cuda', dtype=torch.bfloat16):\n"
        "        loss = criterion(net(x.cuda()), y.cuda())\n    optimizer.zero_grad()\n    loss.backward()\n"
        "    optimizer.step()\n",
    ),
    good=Example(
        "train.py",
        "import torch\nnet = torch.nn.Sequential(torch.nn.Linear(8, 1)).cuda()\n"
        "criterion = torch.nn.BCEWithLogitsLoss()\noptimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)\n"
        "for x, y in loader:\n    with torch.autocast('cuda', dtype=torch.bfloat16):\n"
        "        loss = criterion(net(x.cuda()), y.cuda())\n    optimizer.zero_grad()\n    loss.backward()\n"
        "    optimizer.step()\n",
    ),
    symptoms=("torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast",),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """A call of the loss inside an autocast for a GPU that is on."""
    for event in flow_of(run.document).each("call"):
        made = (
            event.value if event.value.name == "torch.nn.functional.binary_cross_entropy" else event.value.of
        )
        is_loss = made is not None and made.name in (
            "torch.nn.BCELoss",
            "torch.nn.functional.binary_cross_entropy",
        )
        if made is None or not is_loss or (made is not event.value and event.name != "__call__"):
            continue
        inputs = event.value.argument(0, "input")
        if inputs is not None and inputs.made == "call" and inputs.name in ("float", "double", "to"):
            continue
        if _is_under_autocast(event):
            yield RULE.at(event.place, loss=made.last)
            return


def _is_under_autocast(event: Event) -> bool:
    """Whether the innermost autocast around is one for a GPU, written without a switch."""
    found = [each for block in event.path for each in block.contexts if each.last == "autocast"]
    if not found:
        return False
    inner = found[-1]
    device = inner.argument(0, "device_type")
    is_gpu = "cuda" in inner.name or (device is not None and device.constant == "cuda")
    return is_gpu and "enabled" not in inner.keywords
