"""M308 no-dropout-from-scratch"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Measured, Paper
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_FEW_EPOCHS = 3
"""As many as the experiment had, in which no dropout was better."""
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
    why="It depends on how often the run sees each pair. After many epochs, 0.1 to 0.3 is usual and worth "
    "several BLEU; in the first few epochs, even of a small corpus, 0 is right. More data helps more than dropout.",
    evidence=(
        Measured(
            "dropout",
            "8 million parameters, 122,000 pairs seen three times, 5 seeds: no dropout is 0.197 nats a token better "
            "than 0.1 (0.159 to 0.236), which is 0.525 better than 0.3.",
        ),
        Paper(
            "https://arxiv.org/abs/1905.11901",
            "Best practices for low-resource translation, dropout among them: with these a neural system "
            "beats a phrase-based one with far less data than was thought.",
        ),
    ),
    fix=Fix("set `{key}: 0.1` if the run is longer than a few epochs"),
    bad=Example("opennmt.yaml", _YAML.format(dropout=0.0)),
    good=Example("opennmt.yaml", _YAML.format(dropout=0.1)),
    tips=("S0-45",),
    symptoms=("over-fitted", "validation loss rises"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where zero is written, unless the run is known to see its text only a few times."""
    dropout, epochs = run.setting("dropout"), run.value("epochs")
    if epochs is not None and epochs <= _FEW_EPOCHS:
        return
    if dropout is None or not dropout.is_written or dropout.value != 0:
        return
    if run.value("from_scratch") is True and run.value("task") == "translation":
        yield RULE.at(dropout)
