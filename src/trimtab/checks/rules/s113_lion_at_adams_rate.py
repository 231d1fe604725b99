"""S113 lion-at-adams-rate"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer, Paper
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="S113",
    name="lion-at-adams-rate",
    severity="note",
    message="Lion takes a rate of {rate:g}, which is what {adam}",
    why="Every element of Lion's update is plus or minus the rate, so its norm is larger than Adam's at the "
    "same rate. The authors divide the rate by 3 to 10 and multiply the weight decay by as much.",
    evidence=(
        Paper(
            "https://arxiv.org/abs/2302.06675",
            "Chen et al. 2023: Lion requires a smaller learning rate than Adam due to the larger norm of its "
            "update.",
        ),
        Maintainer(
            "https://github.com/lucidrains/lion-pytorch",
            'The README quotes section 5: "a suitable learning rate for Lion is typically 3-10x smaller than '
            'that for AdamW", and weight decay 3-10x larger; its own trial found 3x better and 10x worse.',
        ),
    ),
    fix=Fix("try {lower:g} to {low:g}, and three times the weight decay"),
    bad=Example(
        "args.json",
        '{"output_dir": "out", "per_device_train_batch_size": 64, "optim": "lion_8bit", "learning_rate": '
        "5e-5}",
    ),
    good=Example(
        "args.json",
        '{"output_dir": "out", "per_device_train_batch_size": 64, "optim": "lion_8bit", "learning_rate": '
        "1e-5}",
    ),
    aliases=("OPT002",),
    tips=("S2-04", "S2-03"),
    symptoms=("diverged", "loss spikes", "loss is noisy"),
)

_ADAM = {"lora": 2e-4, "qlora": 2e-4, "none": 5e-5}
"""What AdamW usually gets, by adapter; for full training the default of transformers."""


def check(run: Description) -> Iterator[Diagnosis]:
    """A rate at or above what AdamW usually gets; silent for training from scratch, where rates are higher."""
    optimizer, rate = run.setting("optimizer"), run.setting("learning_rate")
    if optimizer is None or optimizer.value != "lion" or rate is None or run.value("from_scratch") is True:
        return
    usual = _ADAM.get(run.value("adapter") or "none", 2e-4)
    if rate.value >= usual:
        where = rate if rate.is_written else optimizer
        adam = f"AdamW gets ({usual:g} is usual)"
        yield RULE.at(where, rate=rate.value, adam=adam, lower=rate.value / 10, low=rate.value / 3)
