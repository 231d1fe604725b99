"""L126 masked-labels-overwritten"""

from collections.abc import Iterator

from trimtab.checks.code_text import says
from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import options
from trimtab.checks.read.flow.trainers import trainers
from trimtab.checks.read.flow.values import Flow, Value, walk
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "from transformers import AutoModelForCausalLM, {collator}, Trainer, TrainingArguments\n"
    "model = AutoModelForCausalLM.from_pretrained('HuggingFaceTB/SmolLM2-135M')\n"
    "def encode(example):\n    prompt, answer = tokenizer(example['q'])['input_ids'], "
    "tokenizer(example['a'])['input_ids']\n"
    "    return {{'input_ids': prompt + answer, 'labels': [-100] * len(prompt) + answer}}\n"
    "Trainer(model, TrainingArguments('out'), train_dataset=data.map(encode),\n"
    "        data_collator={collator}(tokenizer{mlm})).train()\n"
)

RULE = Rule(
    code="L126",
    name="masked-labels-overwritten",
    severity="error",
    message="`DataCollatorForLanguageModeling` makes its own labels: the -100 that `{name}` puts on prompts is lost",
    why="The collator copies `input_ids` to `labels` and masks only padding, whatever labels the examples have, so "
    "the model is trained on prompts too.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/transformers/issues/26357",
            '"The collator should not overwrite the manual set masks for loss": `labels = batch["input_ids"].clone()`, '
            "of which only padding becomes -100.",
        ),
    ),
    fix=Fix("use `DataCollatorForSeq2Seq(tokenizer)`, which pads the labels that it is given with -100"),
    bad=Example("train.py", _SCRIPT.format(collator="DataCollatorForLanguageModeling", mlm=", mlm=False")),
    good=Example("train.py", _SCRIPT.format(collator="DataCollatorForSeq2Seq", mlm="")),
    symptoms=(
        "model repeats the prompt",
        "loss on the prompt although labels are -100",
        "train only after does not work",
    ),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """A Trainer with that collator, in a script whose function for `map` gives back labels with -100."""
    flow = flow_of(run.document)
    if not says(run.document, "DataCollatorForLanguageModeling"):
        return
    for trainer in trainers(run):
        if not trainer.value.name.startswith("transformers."):
            continue  # TRL's collator of this name keeps labels
        collators = options(trainer.value.argument(2, "data_collator"))
        if len(collators) != 1 or collators[0].name != "transformers.DataCollatorForLanguageModeling":
            continue
        name = _masking(flow)
        if name:
            yield RULE.at(collators[0].place or trainer.place, name=name)
            return


def _masking(flow: Flow) -> str:
    """The function that `map` is given, where its `labels` hold a written -100."""
    mapped = [event.value.argument(0, "function") for event in flow.named("map")]
    for event in flow.events:
        for block in event.path:
            function = block.value if block.kind == "function" else None
            if function is None or not any(_is_one(function, each) for each in mapped):
                continue
            if any(_has_masked_labels(returned) for returned in block.returned):
                return function.name
    return ""


def _is_one(function: Value, given: Value | None) -> bool:
    return given is not None and given.node is not None and given.node is function.node


def _has_masked_labels(returned: Value) -> bool:
    labels = returned.keywords.get("labels") or returned.fields.get("['labels']")
    return labels is not None and any(each.constant == -100 for each in walk(labels, most=80))
