"""K108 resumed-after-its-end"""

import re
from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.own_key import own, own_value
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule
from trimtab.checks.setting import Setting

_STEP = r"(?:_step_|/step_|checkpoint-)(\d{1,12})(?:\.pt|\.safetensors)?/?$"
_YAML = (
    "data:\n  corpus_1: {{path_src: train.en, path_tgt: train.de}}\n"
    "  valid: {{path_src: dev.en, path_tgt: dev.de}}\nsave_model: out/model\nencoder_type: transformer\n"
    "decoder_type: transformer\nhidden_size: 512\nword_vec_size: 512\nposition_encoding: true\n"
    "batch_type: tokens\nbatch_size: 4096\nnormalization: tokens\ntrain_from: old/model_step_100000.pt\n"
    "train_steps: {steps}\n"
)

RULE = Rule(
    code="K108",
    name="resumed-after-its-end",
    severity="error",
    message="the run continues from step {begun} and ends at step {steps}: nothing is trained",
    why="Steps are counted from the very start of the run, not from where it is resumed, and the counter is "
    "in the checkpoint.",
    evidence=(
        Maintainer(
            "https://github.com/OpenNMT/OpenNMT-py/blob/97111d9/onmt/utils/optimizers.py",
            "The training step is part of the state that is loaded unless `reset_optim` is `all`.",
        ),
        Maintainer(
            "https://github.com/OpenNMT/OpenNMT-py/issues/886",
            "Continued training ends at once (title only).",
            opened=False,
        ),
    ),
    fix=Fix(
        "set the number of steps above {begun} by as many as are to be trained, or restart the count{reset}"
    ),
    bad=Example("opennmt.yaml", _YAML.format(steps=50000)),
    good=Example("opennmt.yaml", _YAML.format(steps=150000)),
    symptoms=("training ends at once",),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where the name of the checkpoint says its step."""
    steps, begun = run.setting("steps"), _checkpoint(run)
    found = re.search(_STEP, begun.value) if begun is not None and isinstance(begun.value, str) else None
    if steps is None or begun is None or found is None or not 0 < steps.value <= int(found[1]):
        return
    is_toolkit = run.tool in ("opennmt", "eole", "mammoth")
    reset = " with `reset_optim: all`" if is_toolkit else ""
    yield RULE.at(
        steps if steps.is_written else begun,
        begun=f"{int(found[1]):,}",
        steps=f"{steps.value:,}",
        reset=reset,
    )


def _checkpoint(run: Description) -> Setting | None:
    """What the run continues from with its counter."""
    block = "training." if run.tool == "eole" else ""
    if run.tool in ("opennmt", "eole", "mammoth"):
        return None if own_value(run, f"{block}reset_optim") == "all" else own(run, f"{block}train_from")
    return own(run, "resume_from_checkpoint")
