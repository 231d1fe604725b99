"""S135 share-read-as-steps"""

from collections.abc import Iterator

from trimtab.checks.combination import written
from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="S135",
    name="share-read-as-steps",
    severity="error",
    message="`{key}: {value}` is {meaning}",
    why="From version 5 on transformers reads a warm-up below 1 as a share of the run. Older versions read "
    "it as a number of steps, so that 0.1 is a tenth of one step: no warm-up. In the OpenNMT family it is "
    "refused or rounded to none.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/training_args.py",
            "get_warmup_steps: int(warmup_steps) from 1 on, else ceil(num_training_steps * warmup_steps); in "
            "4.57.0 it is `self.warmup_steps if self.warmup_steps > 0 else math.ceil(num_training_steps * "
            "self.warmup_ratio)`.",
        ),
    ),
    fix=Fix("{fix}"),
    bad=Example(
        "args.json",
        '{"output_dir": "out", "per_device_train_batch_size": 8, "warmup_steps": 0.1}',
        versions="transformers=4.57.0",
    ),
    good=Example(
        "args.json",
        '{"output_dir": "out", "per_device_train_batch_size": 8, "warmup_ratio": 0.1}',
        versions="transformers=4.57.0",
    ),
    aliases=("TT802",),
    tips=("S3-06",),
    symptoms=("learning rate starts at its full value", "no warm-up"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """A share where steps are read, by the version that is known; and a ratio that is a number of steps."""
    steps = written(run, "warmup_steps")
    is_old = run.tool in ("transformers", "trl", "llamafactory") and run.at_least("transformers", 5) is False
    if is_old and steps is not None and isinstance(steps.value, float) and 0 < steps.value < 1:
        meaning = "a share in transformers 5, but here it is less than one step"
        yield RULE.at(steps, value=steps.value, meaning=meaning, fix=f"write `warmup_ratio: {steps.value}`")
    ratio = written(run, "warmup_ratio")
    if ratio is None or isinstance(ratio.value, bool) or not isinstance(ratio.value, int | float):
        return
    if ratio.value >= 2 and run.tool in ("transformers", "trl", "llamafactory", "axolotl"):
        meaning = f"{ratio.value:g} times the whole run"
        yield RULE.at(ratio, value=ratio.value, meaning=meaning, fix=f"write `warmup_steps: {ratio.value:g}`")
