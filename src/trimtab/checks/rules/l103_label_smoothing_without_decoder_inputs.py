"""L103 label-smoothing-without-decoder-inputs"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.document import Call
from trimtab.checks.evidence import Maintainer
from trimtab.checks.own_key import calls_of
from trimtab.checks.read.flow.trainers import trainers
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "from transformers import (AutoModelForSeq2SeqLM, DataCollatorForSeq2Seq, Seq2SeqTrainer,\n"
    "                          Seq2SeqTrainingArguments)\nmodel = "
    'AutoModelForSeq2SeqLM.from_pretrained("Helsinki-NLP/opus-mt-en-de")\nargs = '
    'Seq2SeqTrainingArguments(output_dir="out", per_device_train_batch_size=8, '
    "label_smoothing_factor=0.1)\ncollator = DataCollatorForSeq2Seq(tokenizer{model})\n"
)

RULE = Rule(
    code="L103",
    name="label-smoothing-without-decoder-inputs",
    severity="error",
    message="{collator}, so that with label smoothing there are no decoder inputs",
    why="With smoothing on, the Trainer takes the labels out of the batch before it calls the model. Only a "
    "collator that knows the model adds `decoder_input_ids`; without them T5 fails, and BART, mBART, Marian "
    "and M2M100 silently decode from the shifted *source*, which is not what the labels belong to.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/data/data_collator.py",
            "`decoder_input_ids` are prepared only where `self.model` is given and has "
            "`prepare_decoder_input_ids_from_labels`.",
        ),
        Maintainer(
            "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/models/bart/modeling_bart.py",
            "Without decoder inputs the model makes them from `input_ids`, the source.",
        ),
    ),
    fix=Fix("write `DataCollatorForSeq2Seq(tokenizer, model=model)`"),
    bad=Example("train.py", _SCRIPT.format(model="")),
    good=Example("train.py", _SCRIPT.format(model=", model=model")),
    aliases=("TT102",),
    tips=("S0-58",),
    symptoms=(
        "label smoothing explodes",
        "copies the source",
        "You have to specify either decoder_input_ids",
    ),
)
_HEADS = ("ForConditionalGeneration", "MTModel", "AutoModelForSeq2SeqLM")


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires in a script that shows the head, the smoothing and the collator."""
    smoothing = run.setting("label_smoothing")
    if smoothing is None or smoothing.value <= 0 or run.document.syntax != "python":
        return
    if any(_is_encoder_decoder(call) for call in calls_of(run, "from_pretrained", "from_config")):
        for call in calls_of(run, "DataCollatorForSeq2Seq"):
            if "model" not in call.arguments and not call.has_rest and len(call.positional) < 2:
                yield RULE.at(call.place, collator="`DataCollatorForSeq2Seq` is not given the model")
        for trainer in trainers(run):
            given = trainer.value.keywords.get("data_collator")
            if given is not None and given.last in _PLAIN:
                yield RULE.at(trainer.place, collator=f"`{given.last}` knows no decoder inputs")


_PLAIN = (
    "default_data_collator",
    "DefaultDataCollator",
    "DataCollatorWithPadding",
    "torch_default_data_collator",
)


def _is_encoder_decoder(call: Call) -> bool:
    """By the name of the class; multimodal decoders, which end alike, have no smoothing of their own."""
    return call.qualifier.rpartition(".")[2].endswith(_HEADS)
