"""S122 adafactor-without-update-clipping"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.own_key import calls_of
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule
from trimtab.checks.rules.s119_adafactor_of_two_rates import is_of_transformers

RULE = Rule(
    code="S122",
    name="adafactor-without-update-clipping",
    severity="warning",
    message="Adafactor's update clipping is set to {value}, not 1.0",
    why="The clipping of updates is what keeps Adafactor stable while its second moment is out of date. None "
    "is no way to switch it off: the update is divided by the threshold, and None cannot divide.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/optimization.py",
            '"Training without LR warmup or clip_threshold is not recommended: use clip_threshold=1.0"; the step '
            "divides by "
            "max(1, RMS(update) / clip_threshold).",
        ),
    ),
    fix=Fix("leave clip_threshold at 1.0"),
    bad=Example(
        "train.py",
        "from transformers.optimization import Adafactor\n\noptimizer = Adafactor(\n    model.parameters(), "
        "lr=1e-3, scale_parameter=False, relative_step=False, clip_threshold=None\n)\n",
    ),
    good=Example(
        "train.py",
        "from transformers.optimization import Adafactor\n\noptimizer = Adafactor(\n    model.parameters(), "
        "lr=1e-3, scale_parameter=False, relative_step=False, clip_threshold=1.0\n)\n",
    ),
    aliases=("ADAF003",),
    tips=("S0-32", "S0-34"),
    symptoms=("diverged", "unsupported operand type for NoneType"),
)

MOST = 10.0
"""A threshold from which nothing is clipped any more."""


def check(run: Description) -> Iterator[Diagnosis]:
    """Calls of transformers' class, and Eole's `adafactor_d`."""
    for call in calls_of(run, "Adafactor"):
        clip = call.arguments.get("clip_threshold")
        if is_of_transformers(call) and clip is not None and _is_off(clip.value):
            yield RULE.at(clip.place, value=clip.raw)
    own = run.written("training.adafactor_d")
    if (
        run.tool == "eole"
        and own is not None
        and run.value("optimizer") == "adafactor"
        and _is_off(own.value)
    ):
        yield RULE.at(own, value=own.value)


def _is_off(value: object) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value is None or (is_number and not 0 < value <= MOST)  # type: ignore[operator]
