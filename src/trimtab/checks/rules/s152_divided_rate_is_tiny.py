"""S152 divided-rate-is-tiny"""

import math
from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule
from trimtab.checks.step_size import ADAM_FAMILY

LOWEST = 3e-5
"""Peak rate below which Adam hardly moves a translator that starts from random weights."""
_LINE = (
    "sockeye-train --prepared-data data --validation-source dev.en --validation-target dev.de --output model \\\n"
    "  --optimizer adam --initial-learning-rate {rate} --learning-rate-scheduler-type inv-sqrt-decay \\\n"
    "  --learning-rate-warmup 4000 --gradient-clipping-type norm --max-updates 100000\n"
)

RULE = Rule(
    code="S152",
    name="divided-rate-is-tiny",
    severity="warning",
    message="{rate:g} is divided by the root of {warmup} warm-up steps: the learning rate never passes {peak:.2g}",
    why="In this schedule the written learning rate is a factor: the rate at step t is factor / sqrt(max(t, warm-up)). "
    "A number that is a usual learning rate becomes one sixtieth of it after 4,000 steps of warm-up, and the model "
    "hardly learns. In fairseq and Marian the same schedule reaches the written rate.",
    evidence=(
        Arithmetic("0.0005 / sqrt(4000) is 7.9e-6; a peak of 0.0005 needs 0.0005 * sqrt(4000) = 0.0316."),
        Maintainer(
            "https://github.com/awslabs/sockeye/blob/871d986/sockeye/lr_scheduler.py",
            "'Learning rate schedule: lr / sqrt(max(t, warmup_steps))'.",
        ),
        Maintainer(
            "https://github.com/awslabs/sockeye/blob/871d986/docs/tutorials/wmt_large.md",
            "The recipe for large batches has an initial learning rate of 0.06325 with 4,000 steps of warm-up: 0.001.",
        ),
    ),
    fix=Fix("write {wanted:.3g} for a peak of {rate:g}"),
    bad=Example("train.sh", _LINE.format(rate=0.0005)),
    good=Example("train.sh", _LINE.format(rate=0.0316)),
    symptoms=("loss falls very slowly", "loss stays high", "does not learn"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Sockeye's schedule, from scratch with Adam."""
    rate, warmup = run.setting("learning_rate"), run.value("warmup_steps")
    if run.tool != "sockeye" or run.value("schedule") != "rsqrt" or rate is None or not warmup:
        return
    if run.value("optimizer") not in ADAM_FAMILY or run.value("from_scratch") is False or rate.value <= 0:
        return
    root = math.sqrt(warmup)
    if rate.value / root < LOWEST:
        yield RULE.at(
            rate, rate=rate.value, warmup=f"{warmup:,}", peak=rate.value / root, wanted=rate.value * root
        )
