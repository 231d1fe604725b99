"""S124 no-clipping-from-scratch"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Folklore, Paper
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule
from trimtab.checks.step_size import ADAM_FAMILY

RULE = Rule(
    code="S124",
    name="no-clipping-from-scratch",
    severity="note",
    message="Adam trains a new model with gradient clipping off",
    why="A single abnormal gradient enters both of Adam's moments and moves the weights for many steps. A "
    "clip is cheap insurance; which threshold is best differs, and many train well without, above all after a "
    "long warm-up, so this is a note.",
    evidence=(
        Paper(
            "https://arxiv.org/abs/2502.11034",
            "AdaGC: abnormal gradients contaminate Adam's moments; clipping by an adaptive threshold for "
            "each tensor removes loss spikes, better than one global threshold of 1.0.",
            opened=False,
        ),
        Folklore(
            "Recipes for language models clip at 1.0, translation toolkits at 0 to 5; cited from memory."
        ),
    ),
    fix=Fix("set a threshold of 1.0 to 5.0, and look at how often it clips"),
    bad=Example(
        "onmt.yaml",
        "data:\n  corpus_1:\n    path_src: train.en\n    path_tgt: train.de\nsave_model: "
        "run/model\nsrc_vocab: run/vocab.en\ntgt_vocab: run/vocab.de\nencoder_type: "
        "transformer\ndecoder_type: transformer\noptim: adam\nlearning_rate: 2.0\ndecay_method: "
        "noam\nwarmup_steps: 500\nmax_grad_norm: 0\n",
    ),
    good=Example(
        "onmt.yaml",
        "data:\n  corpus_1:\n    path_src: train.en\n    path_tgt: train.de\nsave_model: "
        "run/model\nsrc_vocab: run/vocab.en\ntgt_vocab: run/vocab.de\nencoder_type: "
        "transformer\ndecoder_type: transformer\noptim: adam\nlearning_rate: 2.0\ndecay_method: "
        "noam\nwarmup_steps: 500\nmax_grad_norm: 1.0\n",
    ),
    tips=("S0-23", "S0-25", "S3-07", "S4-01"),
    symptoms=("loss spikes", "diverged after N steps"),
)


WARMED_UP = 4000
"""Warm-up steps of the Transformer paper, whose recipe has no clipping, as those of the toolkits after it."""


def check(run: Description) -> Iterator[Diagnosis]:
    """Only where clipping is switched off and no long warm-up of the Transformer's own schedule replaces it."""
    clip = run.setting("clip")
    if clip is None or not clip.is_written or clip.value != 0 or run.tool == "mammoth":
        return
    if (
        run.value("schedule") in ("noam", "inverse_sqrt", "rsqrt")
        and (run.value("warmup_steps") or 0) >= WARMED_UP
    ):
        return
    if run.value("from_scratch") is True and run.value("optimizer") in ADAM_FAMILY:
        yield RULE.at(clip)
