"""S123 clip-times-parameters"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="S123",
    name="clip-times-parameters",
    severity="warning",
    message="Mammoth multiplies max_grad_norm {clip:g}{default} by the number of parameters of each "
    "component: it does not clip",
    why="The threshold becomes {clip:g} times some millions, and no gradient has such a norm. Even without "
    "the factor each component would be clipped by itself, which turns the direction of the whole gradient.",
    evidence=(
        Maintainer(
            "https://github.com/Helsinki-NLP/mammoth/blob/dea5665/mammoth/utils/optimizers.py",
            "SubOptimizer: self._max_grad_norm = max_grad_norm * self._n_params_tot, and clip_grad_norm_ is "
            "called for each parameter group with it.",
        ),
        Arithmetic(
            "A component of 30 million parameters with a threshold of 1.0 is clipped at a norm of "
            "30,000,000, which is a root mean square of 5,477 for each element of its gradient."
        ),
    ),
    fix=Fix(
        "do not count on clipping: choose the rate and the warm-up so that it trains without, or set "
        "`max_grad_norm` to the wanted norm divided by the number of parameters of a component"
    ),
    bad=Example(
        "mammoth.yaml",
        "tasks:\n  train_en-de:\n    src_tgt: en-de\n    enc_sharing_group: [en]\n    dec_sharing_group: "
        "[de]\n    node_gpu: '0:0'\n    path_src: en.txt\n    path_tgt: de.txt\nsave_model: "
        "out/model\noptim: adamw\nlearning_rate: 0.0003\ndecay_method: linear_warmup\nwarmup_steps: "
        "1000\nmax_grad_norm: 1.0\n",
    ),
    good=Example(
        "mammoth.yaml",
        "tasks:\n  train_en-de:\n    src_tgt: en-de\n    enc_sharing_group: [en]\n    dec_sharing_group: "
        "[de]\n    node_gpu: '0:0'\n    path_src: en.txt\n    path_tgt: de.txt\nsave_model: "
        "out/model\noptim: adamw\nlearning_rate: 0.0003\ndecay_method: linear_warmup\nwarmup_steps: "
        "1000\nmax_grad_norm: 0.0\n",
    ),
    aliases=("TT105", "CLIP002"),
    tips=("S1-08", "S1-09", "S0-23"),
    symptoms=("loss spikes", "diverged", "n_clips is always 0", "a setting has no effect"),
)

HARMLESS = 1e-3
"""Below this the number of parameters has been divided out already."""


def check(run: Description) -> Iterator[Diagnosis]:
    """Where it is written; the default is only worth a note."""
    clip = run.setting("clip")
    if run.tool != "mammoth" or clip is None or clip.value < HARMLESS:
        return
    if clip.is_written:
        yield RULE.at(clip, clip=clip.value, default="")
    elif (optimizer := run.setting("optimizer")) is not None and optimizer.is_written:
        yield RULE.at(optimizer, severity="note", clip=clip.value, default=" (the default)")
