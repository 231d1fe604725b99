"""S106 rate-starts-at-its-peak"""

import math
from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer, Paper
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="S106",
    name="rate-starts-at-its-peak",
    severity="note",
    message="`rsqrt` has no warm-up: it stays at {factor:g} / sqrt({warmup}) = {peak:.2g} until step "
    "{warmup}, then decays",
    why="`warmup_steps` is here the length of a plateau, not of a rise, and the plateau is the configured "
    "rate divided by its root. A post-norm transformer wants a rise; a pre-norm one may do without, so this "
    "is a note.",
    evidence=(
        Arithmetic("1 / sqrt(max(t, w)) is 1 / sqrt(w) for all t <= w."),
        Maintainer(
            "https://github.com/Helsinki-NLP/mammoth/blob/dea5665/mammoth/utils/optimizers.py",
            "rsqrt_decay returns 1.0 / sqrt(max(step, warmup_steps)); OpenNMT-py and Eole have the same "
            "function.",
        ),
        Paper(
            "https://arxiv.org/abs/2002.04745",
            "Xiong et al. 2020: warm-up is essential for Post-LN, and Pre-LN trains without it.",
        ),
    ),
    fix=Fix("use `linear_warmup` (Mammoth), `noam`, or `cosine` (Eole), which rise first"),
    bad=Example(
        "onmt.yaml",
        "data:\n  corpus_1:\n    path_src: train.en\n    path_tgt: train.de\nsave_model: "
        "run/model\nsrc_vocab: run/vocab.en\ntgt_vocab: run/vocab.de\nencoder_type: "
        "transformer\ndecoder_type: transformer\nhidden_size: 512\noptim: adam\nlearning_rate: "
        "0.05\ndecay_method: rsqrt\nwarmup_steps: 4000\n",
    ),
    good=Example(
        "onmt.yaml",
        "data:\n  corpus_1:\n    path_src: train.en\n    path_tgt: train.de\nsave_model: "
        "run/model\nsrc_vocab: run/vocab.en\ntgt_vocab: run/vocab.de\nencoder_type: "
        "transformer\ndecoder_type: transformer\nhidden_size: 512\noptim: adam\nlearning_rate: "
        "2.0\ndecay_method: noam\nwarmup_steps: 4000\n",
    ),
    aliases=("SCHED001",),
    tips=("S1-07", "S1-06"),
    symptoms=("diverged after a few steps", "loss flat"),
)


_KEYS = {"opennmt": "warmup_steps", "mammoth": "warmup_steps", "eole": "training.warmup_steps"}
_DEFAULT = 4000
"""Of `warmup_steps`, in all three."""


def check(run: Description) -> Iterator[Diagnosis]:
    """For the three tools that have this schedule."""
    key, factor, schedule = _KEYS.get(run.tool), run.value("learning_rate"), run.setting("schedule")
    if key is None or factor is None or schedule is None or schedule.value != "rsqrt":
        return
    written = run.written(key)
    warmup = _DEFAULT if written is None else written.value
    if isinstance(warmup, int) and warmup > 0:
        yield RULE.at(schedule, factor=factor, warmup=warmup, peak=factor / math.sqrt(warmup))
