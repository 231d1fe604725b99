"""S116 accumulation-on-one-device"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Paper
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="S116",
    name="accumulation-on-one-device",
    severity="note",
    message="{accumulation} micro-batches make a step on a single device",
    why="On one device accumulation buys no speed: it only takes fewer steps with the same data. A step "
    "after each micro-batch learns as much or more for the same compute if the rate and beta2 are set for "
    "it. It stays right where many devices talk over a slow network, and where a recipe is to be reproduced "
    "exactly.",
    evidence=(
        Paper(
            "https://arxiv.org/abs/2507.07101",
            "Marek et al. 2025 recommend against gradient accumulation unless training on multiple devices "
            "with multiple model replicas: small batches do as well or better per FLOP, with the half-life "
            "of the second moment held fixed.",
        ),
        Paper(
            "https://arxiv.org/abs/1706.03762",
            "5.1: about 25,000 source and 25,000 target tokens in a batch; translation up to that is left alone "
            "(cited from memory).",
            opened=False,
        ),
    ),
    fix=Fix("try an accumulation of 1 with a lower rate and a beta2 nearer to 1"),
    bad=Example(
        "onmt.yaml",
        "data:\n  corpus_1:\n    path_src: train.en\n    path_tgt: train.de\nsave_model: "
        "run/model\nsrc_vocab: run/vocab.en\ntgt_vocab: run/vocab.de\nencoder_type: "
        "transformer\ndecoder_type: transformer\nworld_size: 1\ngpu_ranks: [0]\nbatch_type: "
        "tokens\nnormalization: tokens\nbatch_size: 4096\naccum_count: [8]\noptim: adam\nlearning_rate: "
        "2.0\ndecay_method: noam\nwarmup_steps: 8000\n",
    ),
    good=Example(
        "onmt.yaml",
        "data:\n  corpus_1:\n    path_src: train.en\n    path_tgt: train.de\nsave_model: "
        "run/model\nsrc_vocab: run/vocab.en\ntgt_vocab: run/vocab.de\nencoder_type: "
        "transformer\ndecoder_type: transformer\nworld_size: 1\ngpu_ranks: [0]\nbatch_type: "
        "tokens\nnormalization: tokens\nbatch_size: 4096\naccum_count: [1]\noptim: adam\nlearning_rate: "
        "2.0\ndecay_method: noam\nwarmup_steps: 8000\n",
    ),
    aliases=("BATCH002",),
    tips=("S2-28", "S0-118", "S1-02"),
    symptoms=("training is slow",),
)


PUBLISHED = 25_000
"""Tokens in a step of the Transformer paper, which recipes for translation gather on one device."""


def check(run: Description) -> Iterator[Diagnosis]:
    """Only where one device is written, not where it is a guess, and not for a batch that a published recipe has."""
    accumulation, devices = run.setting("accumulation"), run.setting("devices")
    if accumulation is None or devices is None or devices.value != 1 or not devices.is_written:
        return
    if accumulation.value > 1 and accumulation.is_written and not _is_published(run, accumulation.value):
        yield RULE.at(accumulation, accumulation=accumulation.value)


def _is_published(run: Description, accumulation: int) -> bool:
    size = run.value("micro_batch")
    return (
        run.value("task") == "translation"
        and run.value("batch_unit") == "tokens"
        and size is not None
        and size * accumulation <= PUBLISHED
    )
