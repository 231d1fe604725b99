"""E116 loss-averaged-by-batch"""

from collections.abc import Iterator

from trimtab.checks.code_text import says
from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.read.flow.losses import cross_entropies
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import innermost_loop, without_gradients
from trimtab.checks.read.flow.values import Block, Event, Flow, Value, walk
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import math\nimport torch\nfrom torch import nn\nmodel = Translator()\n"
    "criterion = nn.CrossEntropyLoss(ignore_index=0{reduction})\ndef evaluate(loader):\n    model.eval()\n"
    "    total = count = 0\n    with torch.no_grad():\n        for source, target in loader:\n"
    "            logits = model(source, target[:, :-1])\n            gold = target[:, 1:]\n"
    "            total += criterion(logits.reshape(-1, 8000), gold.reshape(-1)).item()\n"
    "            count += (gold != 0).sum().item()\n    return math.exp(total / {count})\nprint(evaluate(valid))\n"
)

RULE = Rule(
    code="E116",
    name="loss-averaged-by-batch",
    severity="note",
    message="the loss of the evaluation is a mean over batches, whose numbers of targets differ",
    why="Each batch's loss is a mean over its own targets, without padding. Averaged by batch, a batch of three short "
    "sentences counts as much as one of thirty long ones: the loss, and all the more the perplexity, depends on how "
    "the data are cut into batches, and is not comparable between batch sizes.",
    evidence=(
        Maintainer(
            "https://docs.pytorch.org/docs/stable/generated/torch.nn.CrossEntropyLoss.html",
            "'When size_average is True, the loss is averaged over non-ignored targets.'",
        ),
        Arithmetic("Batches of 10 and 1,000 targets with means 6 and 3: 4.5 by batch, 3.03 by target."),
    ),
    fix=Fix(
        'add up `reduction="sum"` and the number of targets, and divide once at the end',
        safety="same training",
    ),
    bad=Example("train.py", _SCRIPT.format(reduction="", count="len(loader)")),
    good=Example("train.py", _SCRIPT.format(reduction=', reduction="sum"', count="count")),
    tips=("S0-96",),
    symptoms=(
        "validation loss depends on the batch size",
        "perplexity differs between batch sizes",
        "validation loss differs",
    ),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """A cross entropy that leaves labels out, read by `item()` in a loop without gradients, and a quotient by the
    length of what the loop goes over."""
    flow = flow_of(run.document)
    if not says(run.document, "ignore_index"):
        return
    means = {
        id(loss.event.value)
        for loss in cross_entropies(flow)
        if loss.ignore_index is not None and loss.is_mean
    }
    for event in flow.named("item") if means else ():
        loop = innermost_loop(event)
        is_loss = any(id(each) in means for each in walk(event.subject, most=8))
        if loop is None or loop.value is None or not is_loss or not without_gradients(event):
            continue
        if _is_divided_by_length(flow, event, loop):
            yield RULE.at(event.place)
            return


def _is_divided_by_length(flow: Flow, read: Event, loop: Block) -> bool:
    """Whether a quotient of what was read and the number of turns is given back, or given to a call behind it."""
    over = {id(each) for each in walk(loop.value, most=12)}
    function = next((block for block in reversed(read.path) if block.kind == "function"), None)
    given = list(function.returned) if function is not None else []
    given += [each for event in flow.events[read.index + 1 : read.index + 40] for each in event.value.args]
    return any(
        each.made == "binary"
        and each.name == "/"
        and _is_length(each.args[1], over)
        and _holds(each.args[0], read)
        for value in given
        for each in walk(value, most=40)
    )


def _is_length(value: Value, over: set[int]) -> bool:
    return value.made == "call" and value.name == "len" and bool(value.args) and id(value.args[0]) in over


def _holds(total: Value, read: Event) -> bool:
    return any(each is read.value for each in walk(total, most=40))
