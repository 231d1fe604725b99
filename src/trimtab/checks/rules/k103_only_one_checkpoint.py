"""K103 only-one-checkpoint"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.pushed import is_pushed
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_ARGS = (
    '{{"output_dir": "out", "per_device_train_batch_size": 8, "save_steps": 500,\n'
    ' "save_total_limit": {keep}}}'
)

RULE = Rule(
    code="K103",
    name="only-one-checkpoint",
    severity="note",
    message="only one checkpoint is kept",
    why="The one before is deleted when the newest is there. If that holds a model that has just diverged, "
    "or cannot be read, there is no other. Two or three only cost disk space.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/transformers/issues/35525",
            "'our job can be killed in the middle of checkpointing and is not able to resume since last "
            "checkpoint is incomplete'; it has to be deleted by hand, to go back to the one before.",
        ),
    ),
    fix=Fix("set `{key}` to 3"),
    bad=Example("args.json", _ARGS.format(keep=1)),
    good=Example("args.json", _ARGS.format(keep=3)),
    symptoms=("checkpoint is corrupt", "nothing to resume from", "diverged and cannot go back"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where the file says so, and checkpoints are written during the run and go nowhere else."""
    keep = run.setting("keep_checkpoints")
    if keep is None or not keep.is_written or keep.value != 1 or run.value("save_strategy") == "no":
        return
    if run.tool in ("fairseq", "sockeye", "trimtab"):
        return  # the best one is kept as well
    if not is_pushed(run):
        yield RULE.at(keep)
