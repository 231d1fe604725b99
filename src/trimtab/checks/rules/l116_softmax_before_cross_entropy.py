"""L116 softmax-before-cross-entropy"""

from collections.abc import Iterator

from trimtab.checks.code_text import says
from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.read.flow.losses import cross_entropies
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import root
from trimtab.checks.read.flow.slices import plain
from trimtab.checks.read.flow.values import Event, Flow, Value, walk
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
    symptoms=(
        "loss does not fall below",
        "loss falls slowly",
        "loss flat",
        "loss does not fall below 1.46 with ten classes",
        "cross entropy stays high although accuracy is good",
        "softmax in the last layer",
    ),
)
_OF_PROBABILITIES = ("ice", "ocal", "NLLLoss", "nll_loss", "MSELoss", "mse_loss", "ovasz", "versky")
"""Dice, focal, Lovasz, Tversky and others: losses that may take probabilities."""
_TWICE = {
    "cross_entropy": ("softmax", "Softmax"),
    "binary_cross_entropy_with_logits": ("sigmoid", "Sigmoid"),
}


def check(run: Description) -> Iterator[Diagnosis]:
    """Follows what a loss is given back to what made it: a function, a module, the end of a Sequential, what `forward`
    of a class of the script returns. A loss that arrives as a parameter is what its default, its annotation or its name
    says; where nothing says it, classes that are compared with the targets do."""
    flow = flow_of(run.document)
    reported: set[object] = set()
    for loss in cross_entropies(flow):
        words = _TWICE[loss.name]
        if _is_applied(loss.logits, words, depth=0) and loss.event.place not in reported:
            reported.add(loss.event.place)
            severity = "warning" if loss.made.label else None  # by the name of a parameter
            yield RULE.at(
                loss.event.place, severity=severity if loss.made.has_rest else None, activation=words[0]
            )
    if not says(run.document, "oftmax") or says(run.document, *_OF_PROBABILITIES):
        return
    for event in flow.each("call"):
        if event.place not in reported and _is_open_criterion(event) and _is_classified(flow, event.value):
            reported.add(event.place)
            yield RULE.at(event.place, severity="note", activation="softmax")


def _is_open_criterion(event: Event) -> bool:
    """Whether it calls a parameter that is named after a loss, and of which nothing is known, with probabilities."""
    of = event.value.of
    if event.name != "__call__" or of is None or of.made != "parameter" or len(event.value.args) != 2:
        return False
    is_named = any(word in of.name.lower() for word in ("criterion", "loss_fn", "loss_func"))
    is_open = is_named and not of.keywords and event.value.args[0].made == "call"
    return is_open and _is_applied(event.value.args[0], ("softmax", "Softmax"), depth=0)


def _is_classified(flow: Flow, call: Value) -> bool:
    """Whether the targets of a loss are compared with the largest of its probabilities, and so are classes."""
    probabilities, targets = call.args
    for event in flow.named("argmax", "max"):
        of = (
            event.value.argument(0, "input")
            if event.subject is None or event.subject.made == "imported"
            else event.subject
        )
        if of is None or plain(of) is not plain(probabilities):
            continue
        if any(each.made == "compare" and _compares(each, event.value, targets) for each in _compared(flow)):
            return True
    return False


def _compared(flow: Flow) -> Iterator[Value]:
    """Comparisons that something is counted of: `(predicted == y).sum()`."""
    for event in flow.named("sum", "mean", "float", "item", "eq"):
        yield from walk(event.subject, most=4)


def _compares(compare: Value, largest: Value, targets: Value) -> bool:
    found = [each for part in compare.args for each in walk(part, most=6)]
    return any(each is largest for each in found) and any(each is targets for each in found)


def _is_applied(value: Value | None, words: tuple[str, str], *, depth: int) -> bool:
    value = plain(value)
    if value is not None and value.made == "either" and depth == 0:
        # One branch applies it and the loss behind the branches takes what comes.
        return any(_is_applied(each, words, depth=1) for each in value.args)
    if value is None or value.made != "call" or depth > 6:
        return False
    if value.last == words[0] and not (value.of is not None and value.of.made == "object"):
        return True
    if value.last == "exp" and words[0] == "softmax":  # of logarithms of probabilities
        of = value.of if value.of is not None and value.of.made != "imported" else value.argument(0, "input")
        return _is_applied(of, ("log_softmax", "LogSoftmax"), depth=depth + 1)
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
