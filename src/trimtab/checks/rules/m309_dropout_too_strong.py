"""M309 dropout-too-strong"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Measured, Paper
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_STRONG = 0.4
_YAML = (
    "data:\n  corpus_1: {{path_src: train.en, path_tgt: train.de}}\n"
    "  valid: {{path_src: dev.en, path_tgt: dev.de}}\n"
    "save_model: out/model\nencoder_type: transformer\ndecoder_type: transformer\nposition_encoding: true\n"
    "hidden_size: 512\nword_vec_size: 512\nlayers: 6\nheads: 8\ndropout: {dropout}\n"
    "batch_type: tokens\nbatch_size: 4096\nnormalization: tokens\n"
)

RULE = Rule(
    code="M309",
    name="dropout-too-strong",
    severity="note",
    message="dropout {value}: of each sub-layer's output only {share} is left in training",
    why="Strong dropout suits tens of thousands of pairs or fewer that the run sees many times, where it was found to "
    "help. With more, the model is too small for what is left of it, learns slowly and stays behind one with 0.1; a "
    "small model does so at 0.3 already.",
    evidence=(
        Measured(
            "dropout",
            "8 million parameters, 122,000 pairs seen three times, 5 seeds: 0.3 is 0.525 nats a token worse than 0.1 "
            "(0.482 to 0.568), and 7 points of chrF.",
        ),
        Paper(
            "https://arxiv.org/abs/1905.11901",
            "Strong regularisation is among the practices that help translation with little data.",
        ),
        Arithmetic(
            "What two sub-layers in a row both keep is (1 - p)^2: 0.81 for p = 0.1, 0.25 for p = 0.5."
        ),
    ),
    fix=Fix("set `{key}: 0.1`, unless the run sees fewer than about 100,000 pairs many times"),
    bad=Example("opennmt.yaml", _YAML.format(dropout=0.6)),
    good=Example("opennmt.yaml", _YAML.format(dropout=0.1)),
    tips=("S0-45",),
    symptoms=("loss falls slowly", "loss stays high"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where it is written for training; a model's own file tells how it was trained, which is over."""
    dropout = run.setting("dropout")
    if dropout is None or not dropout.is_written or run.kind == "model-config":
        return
    if _STRONG < dropout.value < 1:
        yield RULE.at(dropout, value=f"{dropout.value:g}", share=f"{1 - dropout.value:.0%}")
