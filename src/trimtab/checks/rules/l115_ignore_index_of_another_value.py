"""L115 ignore-index-of-another-value"""

from collections.abc import Iterator

from trimtab.checks.code_text import says
from trimtab.checks.description import Description
from trimtab.checks.document import UNKNOWN
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.place import Place
from trimtab.checks.read.flow.batches import filling_of
from trimtab.checks.read.flow.losses import CrossEntropy, cross_entropies
from trimtab.checks.read.flow.masks import maskings
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import is_model
from trimtab.checks.read.flow.slices import uncut
from trimtab.checks.read.flow.values import Flow, Value, walk
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nfrom torch import nn\nPAD = 0\n"
    "criterion = nn.CrossEntropyLoss(ignore_index={ignored})\n"
    "for source, target in loader:\n    labels = target[:, 1:].clone()\n    labels[labels == PAD] = -100\n"
    "    loss = criterion(model(source, target[:, :-1]).flatten(0, 1), labels.flatten())\n    loss.backward()\n"
    "    optimizer.step()\n    optimizer.zero_grad()\n"
)

RULE = Rule(
    code="L115",
    name="ignore-index-of-another-value",
    severity="error",
    message="{fault}",
    why="The loss leaves out exactly the label that `ignore_index` names. Where padding has another one, every padded "
    "position counts as a target: with -100 for a class index the run stops on the GPU, with a real id the model "
    "learns to write padding, and the loss shown is mostly that of padding.",
    evidence=(
        Maintainer(
            "https://docs.pytorch.org/docs/stable/generated/torch.nn.CrossEntropyLoss.html",
            "ignore_index 'Specifies a target value that is ignored and does not contribute to the input gradient'; "
            "-100 where nothing is written.",
        ),
        Arithmetic(
            "Of a batch of 4 with 20, 20, 20 and 200 tokens 540 of 800 label positions are padding; the mean loss is "
            "mostly theirs."
        ),
    ),
    fix=Fix("{way}"),
    bad=Example("train.py", _SCRIPT.format(ignored="PAD")),
    good=Example("train.py", _SCRIPT.format(ignored="-100")),
    tips=("S0-58",),
    symptoms=(
        "loss is very low from the start",
        "CUDA error: device-side assert triggered",
        "outputs end at once",
        "loss on padding in spite of ignore_index",
    ),
)
_DEFAULT = -100


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where the script shows both: the label that it gives to padding, and that which every loss leaves out."""
    flow = flow_of(run.document)
    losses = [loss for loss in cross_entropies(flow) if loss.name == "cross_entropy"]
    masked = _masked(run, flow) if losses else set[object]()
    yield from _of_transformers(run, flow, has_loss=bool(losses))
    collators = [each.value for each in flow.named(*_COLLATORS)]
    is_masked_by_it = bool(collators) and not any(
        "label_pad_token_id" in each.keywords or each.has_rest for each in collators
    )
    for loss in losses if is_masked_by_it and not masked else ():
        index = loss.ignore_index
        if index is None or not _is_of_labels(loss.targets):
            continue
        if _is_pad(index) or (type(index.constant) is int and index.constant != _DEFAULT):
            what = "the id of padding" if _is_pad(index) else index.constant
            fault = f"the loss leaves out {what}, and the collator sets the labels of padding to -100"
            place = loss.made.place or loss.event.place
            yield RULE.at(place, fault=fault, way=f"write `ignore_index={_DEFAULT}`")
            return
    for loss in losses:
        filled, ignored = filling_of(uncut(loss.targets)), _ignored(loss)
        if filled is None or loss.ignore_index is None or masked:
            continue
        if type(filled.constant) is int and type(ignored) is int and ignored != filled.constant:
            fault = (
                f"the loss leaves out {ignored}, and the collation fills the targets with {filled.constant}"
            )
            way = f"write `ignore_index={filled.constant}`"
            yield RULE.at(loss.made.place or loss.event.place, fault=fault, way=way)
            return
    ignored = {_ignored(loss) for loss in losses}
    if len(ignored) != 1 or not losses:
        return
    (index,) = ignored
    written = losses[0].ignore_index
    if index is UNKNOWN or written is None:
        return
    if masked == {_DEFAULT} and type(index) is int and index != _DEFAULT:
        fault = f"the loss leaves out {index}, but padding is set to -100 in the labels"
        yield RULE.at(
            losses[0].made.place or losses[0].event.place, fault=fault, way=f"write `ignore_index={_DEFAULT}`"
        )
    elif not masked and index == _DEFAULT and "100" not in _without(run.document.text, "ignore_index=-100"):
        pads = _pads(flow)
        if len(pads) == 1 and _DEFAULT not in pads:
            (pad,) = pads
            fault = f"the loss leaves out -100, but padding is {pad}, and nothing sets it to -100"
            yield RULE.at(
                losses[0].made.place or losses[0].event.place,
                severity="warning",
                fault=fault,
                way=f"write `ignore_index={pad}`",
            )


_COLLATORS = (
    "DataCollatorForLanguageModeling",
    "DataCollatorForSeq2Seq",
    "DataCollatorForTokenClassification",
    "DataCollatorForCompletionOnlyLM",
)
"""Their labels of padding are -100."""


def _is_pad(value: Value) -> bool:
    return value.made == "attribute" and value.name == "pad_token_id"


def _is_of_labels(targets: Value) -> bool:
    """Whether targets are `batch["labels"]`, moved, cut or reshaped."""
    return any(
        each.made == "item" and bool(each.args) and each.args[0].constant == "labels"
        for each in walk(targets, most=12)
    )


def _of_transformers(run: Description, flow: Flow, *, has_loss: bool) -> Iterator[Diagnosis]:
    """Labels for a model of transformers, whose own loss leaves out -100, with -1 or 0 where nothing is "
    "to be learned."""
    is_theirs = "transformers" in run.document.imports or (
        says(run.document, '"input_ids"', "'input_ids'") and says(run.document, '"labels"', "'labels'")
    )
    if (
        has_loss
        or not is_theirs
        or "-100" in run.document.text
        or says(run.document, "CrossEntropyLoss", "nll_loss")
    ):
        return
    found: list[tuple[object, Place]] = [
        (event.value.constant, event.place)
        for event in flow.sets("[]")
        if event.subject is not None and _is_labels(event.subject) and event.item is not None
        and event.item.made in ("compare", "binary")
    ]  # fmt: skip
    for event in flow.named("full", "full_like"):
        filled = event.value.argument(1, "fill_value")
        if (
            filled is not None
            and "label" in event.value.label.lower()
            and event.value.label.startswith(("lm", "mlm", "labels"))
        ):
            found.append((filled.constant, event.place))
    wrong = [(value, place) for value, place in found if type(value) is int and value in (-1, 0)]
    if wrong and len(wrong) == len(found):
        value, place = wrong[0]
        fault = f"labels are set to {value} where nothing is to be learned, and models of transformers leave out -100"
        yield RULE.at(place, severity="warning", fault=fault, way="write -100 there")


def _ignored(loss: CrossEntropy) -> object:
    written = loss.ignore_index
    if loss.made.has_rest:
        return UNKNOWN
    return _DEFAULT if written is None else written.constant


def _masked(run: Description, flow: Flow) -> set[object]:
    """Values that labels are set to by a mask: `labels[labels == pad] = -100`, `masked_fill(mask, -100)`."""
    return {
        each.filled.constant
        for each in maskings(flow, with_choices="-100 if" in run.document.text)
        if _is_labels(each.labels)
        and each.filled.constant is not UNKNOWN
        and not _goes_to_model(flow, each.labels)
    }


def _goes_to_model(flow: Flow, labels: Value) -> bool:
    """Whether a model gets the labels and makes the loss of them itself."""
    return any(
        event.value.keywords.get("labels") is labels
        for event in flow.each("call")
        if is_model(event.value.of)
    )


def _is_labels(value: Value) -> bool:
    name = (value.label or value.name).lower()
    if "mask" in name:
        return False
    return any(part in name for part in ("label", "target", "tgt")) or value.last == "clone"


def _pads(flow: Flow) -> set[object]:
    """What the script pads with, as far as it is written: `PAD = 0`, `padding_value=0`."""
    found: set[object] = set()
    for event in flow.named("pad_sequence"):
        value = event.value.argument(2, "padding_value")
        found.add(0 if value is None else value.constant)
    for value in flow.constants.items():
        if (
            value[0].lower() in ("pad", "pad_id", "pad_idx", "pad_token_id", "pad_index")
            and type(value[1]) is int
        ):
            found.add(value[1])
    return found


def _without(text: str, part: str) -> str:
    return text.replace(part, "").replace(part.replace("=", " = "), "")
