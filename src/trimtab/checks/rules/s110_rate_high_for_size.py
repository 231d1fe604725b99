"""S110 rate-high-for-size"""

from collections.abc import Iterator
from itertools import pairwise
from math import log

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer, Measured
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule
from trimtab.checks.step_size import ADAM_FAMILY, billions

RULE = Rule(
    code="S110",
    name="rate-high-for-size",
    severity="note",
    message="{rate:g} is {times:.0f} times the rate that models of about {size:.2g} billion parameters are "
    "trained with",
    why="Under the usual parametrisation the best rate falls with the width of the model, so a rate that was "
    "found on a small one diverges on a large one. With the batch it goes the other way: larger batches take "
    "somewhat higher rates. Models with norms on queries and keys tolerate higher rates.",
    evidence=(
        Measured(
            "qk_norm",
            "A translator of 8 million parameters at a rate of 0.01, 5 seeds: QK-norm is 0.969 nats a token better "
            "than none (0.815 to 1.124).",
        ),
        Maintainer(
            "https://github.com/EleutherAI/gpt-neox/tree/main/configs",
            "The configurations after GPT-3: 6e-4 for 0.16 billion parameters (README), 1.2e-4 for 6.7 "
            "billion (6-7B.yml), 6e-5 for 175 billion (175B.yml).",
        ),
    ),
    fix=Fix("start from about {usual:.1g}"),
    bad=Example(
        "eole.yaml",
        "data:\n  corpus_1:\n    path_src: train.txt\nsave_data: run\nsrc_vocab: run/vocab.txt\nmodel:\n  "
        "architecture: transformer_lm\n  layers: 24\n  hidden_size: 2048\n  heads: 16\ntraining:\n  "
        "model_path: run/lm\n  optim: adamw\n  learning_rate: 0.003\n  decay_method: cosine\n  warmup_steps: "
        "2000\n  train_steps: 100000\n",
    ),
    good=Example(
        "eole.yaml",
        "data:\n  corpus_1:\n    path_src: train.txt\nsave_data: run\nsrc_vocab: run/vocab.txt\nmodel:\n  "
        "architecture: transformer_lm\n  layers: 24\n  hidden_size: 2048\n  heads: 16\ntraining:\n  "
        "model_path: run/lm\n  optim: adamw\n  learning_rate: 0.0002\n  decay_method: cosine\n  "
        "warmup_steps: 2000\n  train_steps: 100000\n",
    ),
    aliases=("LR001",),
    tips=("S4-05", "S4-02", "S2-26"),
    symptoms=("diverged", "loss spikes", "small model trains, large one does not"),
)

_USUAL = ((0.16, 6e-4), (6.7, 1.2e-4), (175.0, 6e-5))
"""Billions of parameters and peak rate, as far as opened; between them a power law."""
FAR = 5
"""So many times the usual rate is far; twice or thrice is a matter of taste."""


def check(run: Description) -> Iterator[Diagnosis]:
    """From scratch, decoder only, Adam, a plain rate; silent below the smallest model of the table."""
    rate, size = run.setting("learning_rate"), billions(run)
    if rate is None or size is None or size < _USUAL[0][0] or run.value("from_scratch") is not True:
        return
    schedule = run.value("schedule")
    if run.value("optimizer") not in ADAM_FAMILY or schedule in (None, "noam", "noamwd", "rsqrt"):
        return
    if run.value("encoder_decoder") is False and rate.value > FAR * usual_rate(size):
        usual = usual_rate(size)
        yield RULE.at(rate, rate=rate.value, times=rate.value / usual, size=size, usual=usual)


def usual_rate(size: float) -> float:
    """Peak rate for a size in billions, by a power law between the rows of the table, flat outside."""
    if size <= _USUAL[0][0]:
        return _USUAL[0][1]
    for (small, high), (large, low) in pairwise(_USUAL):
        if size <= large:
            return high * (size / small) ** (log(low / high) / log(large / small))
    return _USUAL[-1][1]
