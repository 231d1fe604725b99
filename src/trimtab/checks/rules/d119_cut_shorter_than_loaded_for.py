"""D119 cut-shorter-than-loaded-for"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.trainers import configuration, is_set, trainers
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "from trl import SFTConfig, SFTTrainer\nfrom unsloth import FastLanguageModel\n"
    'model, tokenizer = FastLanguageModel.from_pretrained("unsloth/Qwen2.5-7B", max_seq_length=8192)\n'
    'args = SFTConfig(output_dir="out"{length})\n'
    "SFTTrainer(model=model, processing_class=tokenizer, train_dataset=data, args=args).train()\n"
)

RULE = Rule(
    code="D119",
    name="cut-shorter-than-loaded-for",
    severity="warning",
    message="the model is loaded for {loaded:,} tokens, but SFTConfig cuts every example at 1,024, its default",
    why="`max_seq_length` of the loader only prepares the model. What is cut is decided by the trainer's own "
    "`max_length`: the "
    "ends of longer examples, which often are the answers, are never trained on.",
    evidence=(
        Maintainer(
            "https://github.com/unslothai/unsloth/issues/2904",
            "Examples are cut at 1,024 although the model was loaded for more.",
            opened=False,
        ),
        Arithmetic("Of an example of 8,192 tokens 1,024 are seen: an eighth."),
    ),
    fix=Fix("set `max_length={loaded}` in SFTConfig"),
    bad=Example("train.py", _SCRIPT.format(length=""), versions="trl=0.19.0 transformers=4.52.0"),
    good=Example(
        "train.py", _SCRIPT.format(length=", max_length=8192"), versions="trl=0.19.0 transformers=4.52.0"
    ),
    symptoms=(
        "outputs end at once",
        "answers are cut off",
        "max_seq_length is ignored and examples are truncated",
    ),
)
_DEFAULT = 1024
MENDED = (0, 20)
"""The TRL of the time when Unsloth began to do so."""


def check(run: Description) -> Iterator[Diagnosis]:
    """A length written for the model above TRL's default, and none for the trainer, at either place; of a TRL that is
    known to be from before Unsloth handed the one on to the other."""
    if run.at_least("trl", *MENDED) is not False or run.at_least("trl", 0, 13) is False:
        return
    loads = [
        event.value.keywords.get("max_seq_length") for event in flow_of(run.document).named("from_pretrained")
    ]
    lengths = [value.constant for value in loads if value is not None and type(value.constant) is int]
    if len(lengths) != 1 or lengths[0] <= _DEFAULT:
        return
    for trainer in trainers(run):
        made = configuration(trainer.value)
        if trainer.name != "SFTTrainer" or made is None or made.last != "SFTConfig":
            continue
        given = any(
            is_set(value, name)
            for value in (made, trainer.value)
            for name in ("max_length", "max_seq_length")
        )
        if not given:
            yield RULE.at(trainer.place, loaded=lengths[0])
