"""K110 checkpoint-at-every-step"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_FEW, _LONG = 10, 1000
_ARGS = (
    '{{"output_dir": "out", "per_device_train_batch_size": 8, "max_steps": 5000, "save_strategy": "steps",\n'
    ' "save_steps": {saves}}}'
)

RULE = Rule(
    code="K110",
    name="checkpoint-at-every-step",
    severity="warning",
    message="a checkpoint every {saves} steps: {count} of them in {steps} steps",
    why="Training waits for each, and each is as large as the model and twice that again for Adam. Saving "
    "costs more than a crash would.",
    evidence=(
        Arithmetic(
            "A model of 1 billion parameters with fp32 weights and Adam's moments is 12 GB a checkpoint: 6 "
            "seconds at 2 GB/s, against a step of about 1 second."
        ),
    ),
    fix=Fix("save every {good} steps or so"),
    bad=Example("args.json", _ARGS.format(saves=5)),
    good=Example("args.json", _ARGS.format(saves=500)),
    symptoms=("training is slow", "disk is full"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires for runs that are no smoke tests."""
    saves, steps = run.setting("save_steps"), run.setting("steps")
    if saves is None or steps is None or run.value("save_strategy") != "steps" or steps.value < _LONG:
        return
    if saves.is_written and 1 <= saves.value < _FEW:
        count = int(steps.value // saves.value)
        good = f"{max(100, steps.value // 20):,}"
        yield RULE.at(
            saves, saves=f"{saves.value:g}", count=f"{count:,}", steps=f"{steps.value:,}", good=good
        )
