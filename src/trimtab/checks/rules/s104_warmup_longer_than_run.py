"""S104 warmup-longer-than-run"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="S104",
    name="warmup-longer-than-run",
    severity="error",
    message="warm-up is {warmup} steps, but the run ends after {steps}",
    why="The learning rate is still rising when training stops: it never reaches the value that is "
    "configured, and the decay never happens.",
    evidence=(
        Arithmetic(
            "A linear warm-up of w steps gives the rate peak * t / w at step t; at the end n < w it is n / w."
        ),
    ),
    fix=Fix("set the warm-up well below {steps} steps; 1% to 10% of the run is usual"),
    bad=Example(
        "args.json",
        '{"output_dir": "out", "per_device_train_batch_size": 8, "max_steps": 500, "warmup_steps": 1000}',
    ),
    good=Example(
        "args.json",
        '{"output_dir": "out", "per_device_train_batch_size": 8, "max_steps": 5000, "warmup_steps": 100}',
    ),
    aliases=("TT401",),
    symptoms=(
        "loss falls slowly",
        "loss flat",
        "model learns nothing",
        "learning rate never reaches its peak",
    ),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where both are known in optimizer steps."""
    warmup, steps = run.setting("warmup_steps"), run.setting("steps")
    if warmup is not None and steps is not None and 0 < steps.value <= warmup.value:
        where = warmup if warmup.is_written else steps
        yield RULE.at(where, warmup=f"{warmup.value:,}", steps=f"{steps.value:,}")
