"""P313 graph-retained-between-batches"""

from collections.abc import Iterator

from trimtab.checks.code_text import says
from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.read.flow.loops import training_loops
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="P313",
    name="graph-retained-between-batches",
    severity="warning",
    message="`backward(retain_graph=True)` is the only backward pass of an iteration: the graph is kept for "
    "nothing, or iterations share one that grows",
    why="`retain_graph` is for a second backward pass through the same graph. With one pass per iteration "
    "it only wastes memory. If it silences 'Trying to backward through the graph a second time', "
    "something from the previous iteration, such as a hidden state, is still attached, and each "
    "backward pass goes through all earlier iterations.",
    evidence=(
        Maintainer(
            "https://docs.pytorch.org/docs/stable/generated/torch.Tensor.backward.html",
            "retain_graph: 'If False, the graph used to compute the grads will be freed; [...] Note that in nearly all "
            "cases setting this option to True is not needed and often can be worked around in a much more "
            "efficient way.'",
        ),
    ),
    fix=Fix("leave `retain_graph` out, and `detach()` what one iteration passes to the next"),
    bad=Example(
        "train.py",
        "import torch\nfrom net import Net\nnet = Net()\n"
        "optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)\nfor x, y in loader:\n"
        "    optimizer.zero_grad()\n"
        "    torch.nn.functional.cross_entropy(net(x), y).backward(retain_graph=True)\n    optimizer.step()\n",
    ),
    good=Example(
        "train.py",
        "import torch\nfrom net import Net\nnet = Net()\n"
        "optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)\nfor x, y in loader:\n"
        "    optimizer.zero_grad()\n    torch.nn.functional.cross_entropy(net(x), y).backward()\n"
        "    optimizer.step()\n",
    ),
    symptoms=(
        "Trying to backward through the graph a second time",
        "out of memory after some steps",
        "each step is slower than the one before",
    ),
)


_DETACHES = ("detach", "create_graph", "autograd.grad", "higher", "no_grad(): state", "hessian")


def check(run: Description) -> Iterator[Diagnosis]:
    """A loop with one backward pass and a step of an optimizer, in a script that detaches nothing and computes no
    second derivative."""
    flow = flow_of(run.document)
    backward = [event for event in flow.named("backward") if event.kind == "call"]
    if len({event.place for event in backward}) != 1:
        return
    for loop in training_loops(flow):
        kept = loop.backward.value.keywords.get("retain_graph")
        if kept is None or kept.constant is not True or says(run.document, *_DETACHES):
            continue
        if any(True for _ in loop.steps()):
            yield RULE.at(loop.backward.place)
            return
