"""L121 loss-of-another-scale"""

from collections.abc import Iterator
from typing import Final

from trimtab.checks.code_text import says
from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.read.flow.ends import last_of
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import root
from trimtab.checks.read.flow.values import Event, Value
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nimport torch.nn.functional as F\nmodel = torch.nn.Linear(8, 3)\n"
    "optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)\nfor x, y in loader:\n    optimizer.zero_grad()\n"
    "    F.nll_loss(F.{last}(model(x), dim=-1), y).backward()\n    optimizer.step()\n"
)

RULE = Rule(
    code="L121",
    name="loss-of-another-scale",
    severity="error",
    message="`{loss}` expects {wanted}, but its {which} comes from {given}",
    why="These losses apply no activation themselves, and check little: with probabilities for log-probabilities "
    "the loss "
    "is negative and its gradient flat; with logits it has no lower bound, or stops with a message about values "
    "between 0 and 1.",
    evidence=(
        Maintainer(
            "https://docs.pytorch.org/docs/stable/generated/torch.nn.NLLLoss.html",
            "'The input given through a forward call is expected to contain log-probabilities of each class.'",
        ),
        Arithmetic(
            "`nll_loss` is the negative of the input at the target: of logits it falls without end as they grow, of "
            "probabilities it lies between -1 and 0 and its gradient is the same for every example."
        ),
    ),
    fix=Fix("{fix}"),
    bad=Example("train.py", _SCRIPT.replace("{last}", "softmax")),
    good=Example("train.py", _SCRIPT.replace("{last}", "log_softmax")),
    symptoms=(
        "loss is negative",
        "all elements of input should be between 0 and 1",
        "KL divergence is negative",
        "loss goes to minus infinity",
        "NLLLoss is negative",
    ),
)
_LOSSES: Final = {
    "nll_loss": "nll_loss", "NLLLoss": "nll_loss", "kl_div": "kl_div", "KLDivLoss": "kl_div",
    "binary_cross_entropy": "binary_cross_entropy", "BCELoss": "binary_cross_entropy",
}  # fmt: skip
_LOGS: Final = "log-probabilities"
_SAID: Final = {
    "softmax": "softmax", "linear": "a linear layer", "sigmoid": "sigmoid", "log_softmax": "log_softmax",
    "relu": "ReLU", "tanh": "tanh", "logsigmoid": "logsigmoid",
}  # fmt: skip


def check(run: Description) -> Iterator[Diagnosis]:
    """What made the input of a loss of torch's that has no activation of its own."""
    if not says(
        run.document, "nll_loss", "NLLLoss", "kl_div", "KLDivLoss", "binary_cross_entropy(", "BCELoss"
    ):
        return
    reported: set[object] = set()
    for event in flow_of(run.document).each("call"):
        found = _loss(event)
        if found is None or event.place in reported:
            continue
        name, made = found
        given, target = event.value.argument(0, "input"), event.value.argument(1, "target")
        last = last_of(given)
        wrong = _wrong(name, last)
        if wrong is not None:
            reported.add(event.place)
            wanted, fix = wrong
            yield RULE.at(event.place, loss=name, wanted=wanted, which="input", given=_SAID[last], fix=fix)
        elif name == "kl_div" and last_of(target) == "log_softmax" and "log_target" not in made.keywords:
            reported.add(event.place)
            fix = "pass `log_target=True`, or take softmax for the target"
            wanted = "probabilities as its target"
            yield RULE.at(event.place, loss=name, wanted=wanted, which="target", given="log_softmax", fix=fix)


def _wrong(name: str, last: str) -> tuple[str, str] | None:
    if name == "nll_loss" and last in ("softmax", "linear", "sigmoid", "relu"):
        return _LOGS, "use `cross_entropy` on logits, or `log_softmax` before it"
    if name == "kl_div" and last in ("softmax", "sigmoid", "linear"):
        return _LOGS, "apply `log_softmax` to the input"
    if name == "binary_cross_entropy" and last in ("linear", "log_softmax", "logsigmoid", "tanh"):
        return "probabilities between 0 and 1", "use `binary_cross_entropy_with_logits` on logits"
    return None


def _loss(event: Event) -> tuple[str, Value] | None:
    """The loss that a call is, and what has its options."""
    call = event.value
    if call.of is None and call.last in _LOSSES and call.name.startswith("torch.nn.functional."):
        return _LOSSES[call.last], call
    criterion = root(call.of) if event.name == "__call__" else None
    is_module = criterion is not None and criterion.made == "call" and criterion.name.startswith("torch.nn.")
    if is_module and criterion is not None and criterion.last in _LOSSES:
        return _LOSSES[criterion.last], criterion
    return None
