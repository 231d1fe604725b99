"""L116 softmax-before-cross-entropy"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.read.flow.losses import cross_entropies
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import root
from trimtab.checks.read.flow.slices import plain
from trimtab.checks.read.flow.values import Value
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nfrom torch import nn\nmodel = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, "
    "10){end})\n"
    "criterion = nn.CrossEntropyLoss()\noptimizer = torch.optim.Adam(model.parameters(), lr=1e-3)\n"
    "for x, y in loader:\n    loss = criterion(model(x), y)\n    loss.backward()\n    optimizer.step()\n"
    "    optimizer.zero_grad()\n"
)

RULE = Rule(
    code="L116",
    name="softmax-before-cross-entropy",
    severity="error",
    message="{activation} before a loss that applies it itself: it is applied twice",
    why="`CrossEntropyLoss` takes logits and applies the softmax itself; `BCEWithLogitsLoss` does so with the sigmoid. "
    "On probabilities the second softmax is almost flat: gradients become small, and the loss cannot come near 0.",
    evidence=(
        Maintainer(
            "https://docs.pytorch.org/docs/stable/generated/torch.nn.CrossEntropyLoss.html",
            "'The input is expected to contain the unnormalized logits for each class'.",
        ),
        Arithmetic(
            "With 10 classes and a probability of 1 for the right one the loss is -ln(e / (e + 9)) = 1.46; it "
            "can't be less."
        ),
    ),
    fix=Fix("give the loss the logits; take the {activation} where probabilities are needed"),
    bad=Example("train.py", _SCRIPT.format(end=", nn.Softmax(dim=1)")),
    good=Example("train.py", _SCRIPT.format(end="")),
    symptoms=("loss does not fall below", "loss falls slowly", "loss flat"),
)
_TWICE = {
    "cross_entropy": ("softmax", "Softmax"),
    "binary_cross_entropy_with_logits": ("sigmoid", "Sigmoid"),
}


def check(run: Description) -> Iterator[Diagnosis]:
    """Follows what a loss is given back to what made it: a function, a module, the end of a Sequential, what `forward`
    of a class of the script returns."""
    told: set[object] = set()
    for loss in cross_entropies(flow_of(run.document)):
        words = _TWICE[loss.name]
        if _is_applied(loss.logits, words, depth=0) and loss.event.place not in told:
            told.add(loss.event.place)
            yield RULE.at(loss.event.place, activation=words[0])


def _is_applied(value: Value | None, words: tuple[str, str], *, depth: int) -> bool:
    value = plain(value)
    if value is not None and value.made == "either" and depth == 0:
        # One branch applies it and the loss behind the branches takes what comes.
        return any(_is_applied(each, words, depth=1) for each in value.args)
    if value is None or value.made != "call" or depth > 6:
        return False
    if value.last == words[0] and not (value.of is not None and value.of.made == "object"):
        return True
    if "<returned>" in value.fields:
        returned = value.fields["<returned>"]
        return returned.made != "either" and _is_applied(returned, words, depth=depth + 1)
    if value.name != "__call__" or value.of is None:
        return False
    module = root(value.of)
    return module is not None and _ends_in(module, words)


def _ends_in(module: Value, words: tuple[str, str]) -> bool:
    if module.made != "call" or not module.name.startswith("torch.nn."):
        return False
    if module.last == words[1]:
        return True
    return (
        module.last == "Sequential"
        and bool(module.args)
        and not module.has_rest
        and _ends_in(module.args[-1], words)
    )
