"""L105 label-smoothing-too-strong"""

from collections.abc import Iterator
from math import log

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Measured, Paper
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_STRONG = 0.3
_VOCABULARY = 32000
_LABELING = frozenset({"classification", "image_classification"})
_CLASSES = 10
"""How many a recipe's labels have is not in the recipe."""
_YAML = (
    "data:\n  corpus_1: {{path_src: train.en, path_tgt: train.de}}\n  valid: {{path_src: dev.en, path_tgt: "
    "dev.de}}\nsave_model: out/model\nencoder_type: transformer\ndecoder_type: transformer\n"
    "hidden_size: 512\nword_vec_size: 512\nheads: 8\nposition_encoding: true\nlabel_smoothing: {value}\n"
)

RULE = Rule(
    code="L105",
    name="label-smoothing-too-strong",
    severity="warning",
    message="label smoothing {value}: with {vocabulary} the loss cannot fall below {floor} nats, "
    "however good the model",
    why="The optimum for a smoothed label gives the right token only {share} of the probability. 0.1 is "
    "what translation and image models use; far above it, confidence and the order of hypotheses in "
    "beam search suffer.",
    evidence=(
        Arithmetic(
            "The target gives 1 - e + e/V to the right token and e/V to each other; the least cross entropy "
            "is the entropy of that target. For e = 0.1 and V = 32,000 it is 1.36 nats, for e = 0.3 it is "
            "3.72."
        ),
        Measured(
            "label_smoothing",
            "8 million parameters, English to German, 5 seeds: 0.1 changes chrF by -0.08 (-0.67 to +0.51): whatever it "
            "gains at this size is less than a point.",
        ),
        Paper(
            "https://arxiv.org/abs/1706.03762",
            "Label smoothing of 0.1: hurts perplexity but improves BLEU (cited from memory).",
            opened=False,
        ),
    ),
    fix=Fix("set it to 0.1"),
    bad=Example("opennmt.yaml", _YAML.format(value=0.4)),
    good=Example("opennmt.yaml", _YAML.format(value=0.1)),
    tips=("S0-45", "S0-58", "S3-13"),
    symptoms=("loss flat", "loss stays high", "perplexity is high but translations are good"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires from 0.3 on, below 1, which is refused or nonsense and another rule's."""
    smoothing = run.setting("label_smoothing")
    if smoothing is None or not _STRONG <= smoothing.value < 1:
        return
    known, labels = run.value("vocab_size"), run.value("task") in _LABELING
    vocabulary: int = known if known is not None and known > 1 and not labels else _VOCABULARY
    vocabulary = _CLASSES if labels else vocabulary
    yield RULE.at(
        smoothing,
        value=f"{smoothing.value:g}",
        vocabulary=f"{vocabulary:,} {'classes' if labels else 'tokens'}",
        floor=f"{_entropy(smoothing.value, vocabulary):.2f}",
        share=f"{1 - smoothing.value + smoothing.value / vocabulary:.0%}",
    )


def _entropy(smoothing: float, vocabulary: int) -> float:
    """Of the smoothed label, in nats."""
    other = smoothing / vocabulary
    right = 1 - smoothing + other
    return -right * log(right) - (vocabulary - 1) * other * log(other)
