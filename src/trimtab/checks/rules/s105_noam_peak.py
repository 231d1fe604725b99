"""S105 noam-peak"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="S105",
    name="noam-peak",
    severity="warning",
    message="with noam the learning rate is a factor: {factor:g} * {width}^-0.5 * {warmup}^-0.5 peaks at "
    "{peak:.2g}",
    why="Noam multiplies the configured number by width^-0.5 and by at most warmup^-0.5. A rate as for any "
    "other schedule, such as 0.0003, becomes a rate of 1e-7, and the model learns nothing.",
    evidence=(
        Arithmetic(
            "min(t^-0.5, t * w^-1.5) is largest at t = w, where it is w^-0.5; 512^-0.5 * 4000^-0.5 = 0.0007."
        ),
        Maintainer(
            "https://github.com/Helsinki-NLP/mammoth/blob/dea5665/mammoth/utils/optimizers.py",
            "noam_decay returns model_dim ** (-0.5) * min(step ** (-0.5), step * warmup_steps ** (-1.5)), "
            "and the trainer multiplies learning_rate by it.",
        ),
    ),
    fix=Fix("for a peak of {usual:g} set the learning rate to {wanted:.2g}"),
    bad=Example(
        "onmt.yaml",
        "data:\n  corpus_1:\n    path_src: train.en\n    path_tgt: train.de\nsave_model: "
        "run/model\nsrc_vocab: run/vocab.en\ntgt_vocab: run/vocab.de\nencoder_type: "
        "transformer\ndecoder_type: transformer\nhidden_size: 512\noptim: adam\nlearning_rate: "
        "0.0003\ndecay_method: noam\nwarmup_steps: 8000\n",
    ),
    good=Example(
        "onmt.yaml",
        "data:\n  corpus_1:\n    path_src: train.en\n    path_tgt: train.de\nsave_model: "
        "run/model\nsrc_vocab: run/vocab.en\ntgt_vocab: run/vocab.de\nencoder_type: "
        "transformer\ndecoder_type: transformer\nhidden_size: 512\noptim: adam\nlearning_rate: "
        "2.0\ndecay_method: noam\nwarmup_steps: 8000\n",
    ),
    aliases=("SCHED003",),
    tips=("S1-06",),
    symptoms=("loss flat", "loss falls slowly", "model learns nothing", "diverged"),
)

LOWEST, HIGHEST = 2e-5, 1e-2
"""Outside of these no transformer is known to be trained from scratch with Adam."""
USUAL = 7e-4
"""Peak of the base model of Vaswani et al. 2017: 512^-0.5 * 4000^-0.5."""


def check(run: Description) -> Iterator[Diagnosis]:
    """Where factor, width and warm-up are known and the peak is far from any usual one."""
    factor, width, warmup = run.setting("learning_rate"), run.value("hidden_size"), run.value("warmup_steps")
    if run.value("schedule") not in ("noam", "noamwd") or factor is None or not width or not warmup:
        return
    if run.value("optimizer") == "sgd" or factor.value <= 0 or warmup < 0:
        return
    scale = width**-0.5 * warmup**-0.5
    peak = factor.value * scale
    if not LOWEST <= peak <= HIGHEST:
        yield RULE.at(
            factor,
            factor=factor.value,
            width=width,
            warmup=warmup,
            peak=peak,
            usual=USUAL,
            wanted=USUAL / scale,
        )
