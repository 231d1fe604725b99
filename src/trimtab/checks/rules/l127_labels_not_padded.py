"""L127 labels-not-padded"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import options
from trimtab.checks.read.flow.trainers import trainers
from trimtab.checks.read.flow.values import Flow, Value, walk
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "from transformers import AutoModelForSeq2SeqLM, AutoTokenizer, {collator}, Seq2SeqTrainer, "
    "Seq2SeqTrainingArguments\n"
    "tokenizer = AutoTokenizer.from_pretrained('t5-small')\nmodel = AutoModelForSeq2SeqLM.from_pretrained('t5-small')\n"
    "def encode(batch):\n    inputs = tokenizer(batch['en'], truncation=True)\n"
    "    inputs['labels'] = tokenizer(text_target=batch['de'], truncation=True)['input_ids']\n    return inputs\n"
    "Seq2SeqTrainer(model, Seq2SeqTrainingArguments('out'), train_dataset=data.map(encode, batched=True),\n"
    "               data_collator={collator}(tokenizer)).train()\n"
)

RULE = Rule(
    code="L127",
    name="labels-not-padded",
    severity="error",
    message="`DataCollatorWithPadding` pads inputs, but not `labels` of different lengths",
    why="It expects one label per example. Label sequences of different lengths cannot become one tensor: the first "
    "batch raises an error.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/data/data_collator.py",
            "DataCollatorWithPadding: 'dynamically pad the inputs received'; DataCollatorForSeq2Seq and "
            "DataCollatorForTokenClassification: 'dynamically pad the inputs received, as well as the labels'.",
        ),
    ),
    fix=Fix("use `{right}(tokenizer)`, which pads labels with -100"),
    bad=Example("train.py", _SCRIPT.format(collator="DataCollatorWithPadding")),
    good=Example("train.py", _SCRIPT.format(collator="DataCollatorForSeq2Seq")),
    symptoms=(
        "Unable to create tensor, you should probably activate truncation and/or padding",
        "expected sequence of length at dim 1",
        "Perhaps your features (`labels` in this case) have excessive nesting",
    ),
)
_SEQUENCES = {
    "Seq2SeqTrainer": "DataCollatorForSeq2Seq",
    "AutoModelForTokenClassification": "DataCollatorForTokenClassification",
}


def check(run: Description) -> Iterator[Diagnosis]:
    """A Trainer with that collator, for a model that predicts a sequence, whose labels the script pads nowhere."""
    flow = flow_of(run.document)
    for trainer in trainers(run):
        collators = options(trainer.value.argument(2, "data_collator"))
        if len(collators) != 1 or collators[0].name != "transformers.DataCollatorWithPadding":
            continue
        model = trainer.value.argument(0, "model")
        names = [trainer.value.last, *(each.name for each in walk(model, most=8))]
        right = next((_SEQUENCES[each] for name in names for each in _SEQUENCES if each in name), None)
        if right is not None and _makes_labels(flow) and not _is_padded(flow, collators[0]):
            yield RULE.at(collators[0].place or trainer.place, right=right)
            return


def _makes_labels(flow: Flow) -> bool:
    return any(event.item is not None and event.item.constant == "labels" for event in flow.sets("[]"))


def _is_padded(flow: Flow, collator: Value) -> bool:
    """Whether something in the script may bring all labels to one length."""
    for event in flow.each("call"):
        given = event.value.keywords.get("padding")
        if given is not None and event.value is not collator and given.constant != False:  # noqa: E712
            return True
    return any(True for _ in flow.named("pad", "pad_sequence"))
