"""S120 adafactor-without-warmup"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="S120",
    name="adafactor-without-warmup",
    severity="warning",
    message="Adafactor starts at its full rate of {rate:g}, without warm-up",
    why="Its second moment is an average from the first step on and is wrong at the beginning, so its first "
    "updates are the largest. Its authors and its documentation ask for a warm-up where the rate comes from "
    "outside.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/optimization.py",
            '"Training without LR warmup or clip_threshold is not recommended: use scheduled LR warm-up to '
            'fixed LR".',
        ),
        Maintainer(
            "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/trainer_optimizer.py",
            "The Trainer sets scale_parameter and relative_step to False, so the rate comes from outside.",
        ),
    ),
    fix=Fix("set a warm-up of 1% to 10% of the steps"),
    bad=Example(
        "args.json",
        '{"output_dir": "out", "per_device_train_batch_size": 8, "optim": "adafactor", "learning_rate": '
        '0.001, "max_grad_norm": 0}',
    ),
    good=Example(
        "args.json",
        '{"output_dir": "out", "per_device_train_batch_size": 8, "optim": "adafactor", "learning_rate": '
        '0.001, "max_grad_norm": 0, "warmup_steps": 500}',
    ),
    aliases=("ADAF002",),
    tips=("S0-31", "S0-32"),
    symptoms=("loss jumps at the start", "diverged after a few steps"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """For the tools on transformers' Trainer, where no warm-up is known to be none."""
    optimizer, rate = run.setting("optimizer"), run.value("learning_rate")
    if optimizer is None or optimizer.value != "adafactor" or not optimizer.is_written or rate is None:
        return
    steps, share = run.value("warmup_steps"), run.value("warmup_ratio")
    is_none = run.value("schedule") == "constant" or (steps == 0 and not share)
    if is_none and run.tool in ("transformers", "trl", "llamafactory", "axolotl"):
        yield RULE.at(optimizer, rate=rate)
