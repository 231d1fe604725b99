"""D124 collator-of-another-objective"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.read.flow.roles import is_causal, loaded_class, options
from trimtab.checks.read.flow.trainers import trainers
from trimtab.checks.read.flow.values import Value
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "from transformers import AutoModelForCausalLM, DataCollatorForLanguageModeling, Trainer, TrainingArguments\n"
    "model = AutoModelForCausalLM.from_pretrained('HuggingFaceTB/SmolLM2-135M')\n"
    "collator = DataCollatorForLanguageModeling(tokenizer{mlm})\n"
    "Trainer(model, TrainingArguments('out'), train_dataset=dataset, data_collator=collator).train()\n"
)

RULE = Rule(
    code="D124",
    name="collator-of-another-objective",
    severity="error",
    message="{model} gets batches with `mlm={mlm}`: {fault}",
    why="DataCollatorForLanguageModeling masks 15% of the tokens and asks for these alone unless `mlm=False` is "
    "given. A "
    "causal model shifts labels and predicts the next token: it would learn to predict a few masked tokens, from a "
    "mask token that most causal vocabularies do not have. A masked model with `mlm=False` sees each token it has to "
    "predict.",
    evidence=(
        Maintainer(
            "https://huggingface.co/docs/transformers/main_classes/data_collator",
            "mlm (bool, defaults to True): whether or not to use masked language modeling. If set to False, the labels "
            "are the same as the inputs with the padding tokens ignored (by setting them to -100).",
        ),
        Arithmetic("A label that equals the input at its own position has a loss of 0 for the identity."),
    ),
    fix=Fix("pass `mlm={right}`"),
    bad=Example("train.py", _SCRIPT.replace("{mlm}", "")),
    good=Example("train.py", _SCRIPT.replace("{mlm}", ", mlm=False")),
    symptoms=(
        "This tokenizer does not have a mask token which is necessary for masked language modeling",
        "loss falls to 0 at once",
        "generates mask tokens",
    ),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """The collator of transformers that a Trainer is given, beside the class of its model."""
    for trainer in trainers(run):
        model = trainer.value.argument(0, "model")
        collators = options(trainer.value.argument(2, "data_collator"))
        if len(collators) != 1 or not _is_theirs(collators[0]):
            continue
        given = collators[0].argument(1, "mlm")
        is_masked = True if given is None else given.constant
        name = loaded_class(model)
        if is_masked is True and is_causal(model):
            fault = "it is trained on masked tokens instead of the next token"
            yield RULE.at(trainer.place, model=name, mlm="True", fault=fault, right="False")
        elif is_masked is False and name.endswith("ForMaskedLM"):
            fault = "every label is visible in the input"
            yield RULE.at(trainer.place, model=name, mlm="False", fault=fault, right="True")


def _is_theirs(value: Value) -> bool:
    return (
        value.made == "call"
        and value.name == "transformers.DataCollatorForLanguageModeling"
        and not value.has_rest
    )
