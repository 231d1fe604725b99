"""E107 never-validated"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_LONG = 1000
_YAML = (
    "data:\n  corpus_1: {{path_src: train.en, path_tgt: train.de}}\n{valid}save_model: out/model\n"
    "encoder_type: transformer\ndecoder_type: transformer\nhidden_size: 512\nword_vec_size: 512\n"
    "position_encoding: true\nbatch_type: tokens\nbatch_size: 4096\nnormalization: tokens\n"
    "train_steps: 50000\n"
)

RULE = Rule(
    code="E107",
    name="never-validated",
    severity="note",
    message="{steps} steps without validation data",
    why="The training loss of a translator falls while it learns the target language alone and ignores the "
    "source; only unseen pairs, and translations of them, show it.",
    evidence=(
        Arithmetic(
            "The loss is an average over what was trained on; it bounds nothing about what was not. A "
            "validation of 2,000 pairs every twentieth of the run costs well under 1% of it."
        ),
    ),
    fix=Fix("hold out 1,000 to 3,000 pairs and give them as validation data"),
    bad=Example("opennmt.yaml", _YAML.format(valid="")),
    good=Example("opennmt.yaml", _YAML.format(valid="  valid: {path_src: dev.en, path_tgt: dev.de}\n")),
    tips=("S0-05",),
    symptoms=("one phrase for every input", "no validation scores in the log"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires for translation tools in runs that are no smoke tests."""
    steps, validation, corpora = run.setting("steps"), run.value("validation"), run.setting("corpora")
    if (
        run.tool not in ("opennmt", "eole", "mammoth", "marian", "fairseq")
        or steps is None
        or corpora is None
    ):
        return
    if validation is False and steps.value >= _LONG and run.is_written("output_dir"):
        yield RULE.at(steps if steps.is_written else corpora, steps=f"{steps.value:,}")
