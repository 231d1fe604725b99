"""K102 nothing-to-resume-from"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_LONG = 1000
_ARGS = (
    '{{"output_dir": "out", "per_device_train_batch_size": 8, "max_steps": 5000, "save_strategy": "steps",\n'
    ' "save_steps": {saves}}}'
)

RULE = Rule(
    code="K102",
    name="nothing-to-resume-from",
    severity="warning",
    message="the first checkpoint would come after {saves} steps{default}, but the run ends after {steps}",
    why="Until the end nothing is on the disk: a crash, a full disk or a time limit costs the whole run, and "
    "there is no earlier checkpoint to go back to after a divergence.",
    evidence=(
        Arithmetic(
            "What a failure costs is the time since the last checkpoint, on average half the distance "
            "between two: here the time since the start."
        ),
    ),
    fix=Fix("save every {good} steps or so, and keep a few"),
    bad=Example("args.json", _ARGS.format(saves=10000)),
    good=Example("args.json", _ARGS.format(saves=500)),
    symptoms=("lost the whole run", "nothing to resume from"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires for runs that are no smoke tests."""
    saves, steps = run.setting("save_steps"), run.setting("steps")
    if saves is None or steps is None or run.value("save_strategy") != "steps" or steps.value < _LONG:
        return
    if steps.value < saves.value:
        yield RULE.at(
            saves if saves.is_written else steps,
            saves=f"{saves.value:,.0f}",
            default="" if saves.is_written else " (the default)",
            steps=f"{steps.value:,}",
            good=f"{steps.value // 10:,}",
        )
