"""K101 resume-repeats-data"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.own_key import own
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_ARGS = (
    '{{"output_dir": "out", "per_device_train_batch_size": 8, "save_steps": 500,\n'
    ' "resume_from_checkpoint": "out/checkpoint-1500"{skip}}}'
)

RULE = Rule(
    code="K101",
    name="resume-repeats-data",
    severity="warning",
    message="`{key}: true`: a resumed run starts its data from the beginning",
    why="What was trained on before the interruption comes again, and the end of the epoch is left out, each "
    "time the run is resumed. With one epoch or less the last examples are never seen.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/trainer.py",
            "`steps_trained_in_current_epoch` is only counted, and skipped, where `ignore_data_skip` is "
            "false.",
        ),
    ),
    fix=Fix("remove `{key}`; skipping batches takes a while, but the run continues where it was"),
    bad=Example("args.json", _ARGS.format(skip=', "ignore_data_skip": true')),
    good=Example("args.json", _ARGS.format(skip="")),
    aliases=("TT701",),
    symptoms=(
        "worse after resume",
        "loss jumps after resume",
        "first examples of the epoch are seen again after resuming",
        "resumed run starts the epoch again",
    ),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where the key is on."""
    setting = own(run, "ignore_data_skip")
    if setting is not None and setting.value is True:
        yield RULE.at(setting)
