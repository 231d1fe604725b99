"""L120 padding-in-the-loss"""

from collections.abc import Iterator
from typing import Final

from trimtab.checks.code_text import says
from trimtab.checks.description import Description
from trimtab.checks.document import UNKNOWN
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.place import Place
from trimtab.checks.read.flow.batches import filling_of
from trimtab.checks.read.flow.losses import CrossEntropy, cross_entropies
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import forwards, is_causal, loaded_class, options, without_gradients
from trimtab.checks.read.flow.slices import plain, uncut
from trimtab.checks.read.flow.values import Flow, Value, walk
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer, TrainingArguments\n"
    'tokenizer = AutoTokenizer.from_pretrained("Qwen/Qwen3-0.6B")\n'
    'model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen3-0.6B")\ndef encode(rows):\n'
    '    batch = tokenizer(rows["text"], padding="max_length", max_length=512, truncation=True)\n'
    '    batch["labels"] = {labels}\n    return batch\n'
    'Trainer(model=model, args=TrainingArguments("out", learning_rate=1e-5), train_dataset=data.map(encode)).train()\n'
)
_MASKED = (
    '[[i if m else -100 for i, m in zip(*row)] for row in zip(batch["input_ids"], batch["attention_mask"])]'
)

RULE = Rule(
    code="L120",
    name="padding-in-the-loss",
    severity="warning",
    message="padding counts in the loss: {fault}",
    why="Padded positions are easy: the model soon predicts padding after padding, and their loss is near 0. In a mean "
    "over all positions they dilute the loss of the text by a share that depends on the batch, so that the gradient of "
    "a short example depends on its neighbours, and a low loss says little.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/trl/commit/b8b89783ca1ab081d25651a9a13e9358cc8e1869",
            "ORPO's loss took `input_ids` for labels, padding and all; mended by a mask of -100.",
        ),
        Arithmetic("Of a batch with 20, 20, 20 and 200 tokens 540 of 800 positions are padding."),
    ),
    fix=Fix("{fix}"),
    bad=Example("train.py", _SCRIPT.format(labels='batch["input_ids"].copy()')),
    good=Example("train.py", _SCRIPT.format(labels=_MASKED)),
    symptoms=(
        "loss is near zero at the first steps",
        "empty answers after fine-tuning",
        "loss is very low from the start",
        "outputs end at once",
        "loss depends on the batch size",
        "padding is not ignored in the loss",
        "model predicts only padding",
        "perplexity depends on the padding",
        "loss changes with the amount of padding",
        "empty predictions after fine-tuning T5",
    ),
)
_MASKS: Final = (
    "-100",
    "masked_fill",
    "loss_mask",
    "label_pad",
    "IGNORE_INDEX",
    "ignore_index",
    "DataCollatorForLanguage",
)
_COPIES: Final = frozenset(
    {
        "copy",
        "clone",
        "detach",
        "tolist",
        "list",
        "deepcopy",
        "contiguous",
        "to",
        "cuda",
        "squeeze",
        "flatten",
        "view",
        "reshape",
        "long",
    }
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Labels that are a copy of padded ids, in a script that masks nothing; cross entropy over targets that the
    script's own collation pads, without an index to leave out; and masked losses that are averaged over all
    positions."""
    flow = flow_of(run.document)
    if flow.is_whole and not says(run.document, *_MASKS):
        place = _copied(run, flow)
        if place is not None:
            fault = "labels are a copy of ids that are padded, and nothing sets them to -100 there"
            fix = (
                "set labels to -100 where `attention_mask` is 0, or let DataCollatorForLanguageModeling do it"
            )
            yield RULE.at(place, fault=fault, fix=fix)
            return
    for loss in cross_entropies(flow):
        if loss.name != "cross_entropy" or without_gradients(loss.event):
            continue
        if loss.ignore_index is None and loss.is_mean:
            padded = _padded_by(loss)
            if padded is not None:
                fault = f"`pad_sequence` fills the targets with {padded}, and the cross entropy leaves no index out"
                yield RULE.at(
                    loss.event.place, fault=fault, fix="give it `ignore_index=` with the id of padding"
                )
                return
    yield from _averaged_over_all(flow)


def _copied(run: Description, flow: Flow) -> Place | None:
    for labels, place in _given_as_labels(flow):
        found = _original(labels)
        if found is not None and _is_ids(found) and _is_padded_target(found.of):
            return place
    for event in flow.sets("[]"):
        is_labels = event.item is not None and event.item.constant == "labels"
        if (
            is_labels
            and event.subject is not None
            and _is_ids_of(event.value, event.subject)
            and _pads(event.subject)
        ):
            return event.place
    for inputs, labels, place in _returned(flow) if not says(run.document, "mlm", "mask_token") else ():
        source = _original(inputs)
        if source is not None and source is _original(labels) and source.of is not None and _pads(source.of):
            return place
    pads = says(
        run.document, "padding=True", 'padding="', "padding='", "pad_to_max_length=True", "tokenizer.pad("
    )
    for event in forwards(flow.events) if pads else ():
        call = event.value
        labels, ids = call.keywords.get("labels"), call.argument(0, "input_ids")
        is_masked = "attention_mask" in call.keywords or len(call.args) > 1 or call.has_rest
        if (
            labels is None
            or ids is None
            or not is_masked
            or without_gradients(event)
            or not is_causal(call.of)
        ):
            continue
        source = _original(ids)
        if source is not None and _original(labels) is source and _pads(source.of):
            return event.place
        whole = [each for each in call.args if call.has_rest and _pads(each)]  # `model(**batch, labels=...)`
        if any(_is_ids_of(labels, each) for each in whole):
            return event.place
    return None


def _given_as_labels(flow: Flow) -> Iterator[tuple[Value, Place]]:
    """What models of transformers are given as labels, and what mappings get under that name."""
    for event in flow.sets("[]"):
        if event.item is not None and event.item.constant == "labels":
            yield event.value, event.place
    for _, labels, place in _returned(flow):
        yield labels, place
    for event in forwards(flow.events):
        labels = event.value.keywords.get("labels")
        if labels is not None and loaded_class(event.value.of) and not without_gradients(event):
            yield labels, event.place


def _is_ids(value: Value) -> bool:
    key = value.args[0].constant if value.made == "item" and value.args else value.name
    return key == "input_ids"


def _is_padded_target(value: Value | None) -> bool:
    """Whether a tokenizer made it, of the target side alone, and padded it."""
    if value is None or value.made != "call" or not _pads(value):
        return False
    texts = value.keywords.get("text_target") or (value.args[0] if value.args else None)
    names = " ".join(
        str(each.constant) if isinstance(each.constant, str) else (each.label or each.name)
        for each in walk(texts)
    )
    return "text_target" in value.keywords or any(word in names.lower() for word in _TARGETS)


_TARGETS: Final = (
    "target", "tgt", "summar", "answer", "highlight", "translation", "label", "output", "response",
)  # fmt: skip


def _returned(flow: Flow) -> Iterator[tuple[Value, Value, Place]]:
    """Ids and labels of each mapping that a function gives back."""
    reported: set[int] = set()
    for event in flow.events:
        for block in event.path:
            if block.kind == "function" and id(block) not in reported and block.place is not None:
                reported.add(id(block))
                for each in block.returned:
                    inputs, labels = each.keywords.get("input_ids"), each.keywords.get("labels")
                    if inputs is not None and labels is not None:
                        yield inputs, labels, block.place


def _pads(value: Value | None) -> bool:
    """Whether it is what a tokenizer gives back when it is asked to pad."""
    for each in options(value):
        given = each.keywords.get("padding") if each.made == "call" else None
        if given is not None and given.constant in (True, "max_length", "longest"):
            return True
        if value is not None and value.made == "call" and value.last == "to" and value.of is not None:
            return _pads(value.of)
    return False


def _original(value: Value | None) -> Value | None:
    """A tensor or list behind its copies."""
    for _ in range(12):
        if value is not None and value.made == "item" and value.args and value.args[0].constant == 0:
            value = value.of  # the one row of a batch
            continue
        if value is None or value.made != "call" or value.last not in _COPIES:
            return value
        value = (
            value.of if value.of is not None and value.of.made != "imported" else (value.args or (None,))[0]
        )
    return value


def _is_ids_of(value: Value, batch: Value) -> bool:
    found = _original(value)
    if found is None or found.of is not batch:
        return False
    key = found.args[0].constant if found.made == "item" and found.args else found.name
    return key == "input_ids"


def _padded_by(loss: CrossEntropy) -> str | None:
    """What the collation of the loader fills the targets with, where that can be seen and is no -100."""
    filled = filling_of(uncut(loss.targets))
    if filled is None or filled.constant == -100:
        return None
    return str(filled.constant) if filled.constant is not UNKNOWN else (filled.label or filled.name or None)


def _averaged_over_all(flow: Flow) -> Iterator[Diagnosis]:
    """`(loss * mask).mean()` of a loss for each position."""
    each = {
        id(loss.event.value)
        for loss in cross_entropies(flow)
        if getattr(loss.made.keywords.get("reduction"), "constant", None) == "none"
    }
    for event in flow.named("mean") if each else ():
        of = event.subject
        if event.value.args or event.value.keywords or of is None or of.made != "binary" or of.name != "*":
            continue
        parts = [plain(part) for part in of.args]
        masks = [part for part in parts if part is not None and "mask" in (part.label or part.name).lower()]
        if len(masks) == 1 and any(part is not None and id(part) in each for part in parts):
            fault = "the masked loss is averaged over all positions, those that are masked too"
            fix = "divide the sum by `mask.sum()` in place of `.mean()`"
            yield RULE.at(event.place, fault=fault, fix=fix)
            return
