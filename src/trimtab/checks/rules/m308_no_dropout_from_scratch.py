"""M308 no-dropout-from-scratch"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Paper
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_YAML = (
    "data:\n  corpus_1: {{path_src: train.en, path_tgt: train.de}}\n"
    "  valid: {{path_src: dev.en, path_tgt: dev.de}}\n"
    "save_model: out/model\nencoder_type: transformer\ndecoder_type: transformer\nposition_encoding: true\n"
    "hidden_size: 512\nword_vec_size: 512\nlayers: 6\nheads: 8\ndropout: {dropout}\n"
    "batch_type: tokens\nbatch_size: 4096\nnormalization: tokens\n"
)

RULE = Rule(
    code="M308",
    name="no-dropout-from-scratch",
    severity="note",
    message="dropout is 0 in a translator that is trained from scratch",
    why="The amount of data decides. Where the run sees each pair many times (less than a few million "
    "pairs), 0.1 to 0.3 is usual and worth several BLEU; where it sees each pair once or twice, 0 is right. "
    "More data helps more than dropout.",
    evidence=(
        Paper(
            "https://arxiv.org/abs/1905.11901",
            "Best practices for low-resource translation, dropout among them: with these a neural system "
            "beats a phrase-based one with far less data than was thought.",
        ),
    ),
    fix=Fix("set `{key}: 0.1` unless there are tens of millions of pairs"),
    bad=Example("opennmt.yaml", _YAML.format(dropout=0.0)),
    good=Example("opennmt.yaml", _YAML.format(dropout=0.1)),
    tips=("S0-45",),
    symptoms=("over-fitted", "validation loss rises"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where zero is written."""
    dropout = run.setting("dropout")
    if dropout is None or not dropout.is_written or dropout.value != 0:
        return
    if run.value("from_scratch") is True and run.value("task") == "translation":
        yield RULE.at(dropout)
