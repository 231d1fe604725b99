"""S121 adafactor-scaled-rate"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.own_key import calls_of
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule
from trimtab.checks.rules.s119_adafactor_of_two_rates import is_of_transformers

RULE = Rule(
    code="S121",
    name="adafactor-scaled-rate",
    severity="warning",
    message="Adafactor multiplies lr={rate} by the size of each weight matrix: scale_parameter is {how}",
    why="With scale_parameter the rate is relative: it is multiplied by the root mean square of the weights, "
    "which is 0.02 to 0.1 in most of a transformer. A rate that is meant absolutely is then far too small.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/optimization.py",
            "_get_lr returns param_scale * rel_step_sz with param_scale = max(eps[1], RMS of the parameter); "
            'scale_parameter=True is the default; "To use a manual (external) learning rate schedule you should set '
            '`scale_parameter=False` and `relative_step=False`".',
        ),
    ),
    fix=Fix("write scale_parameter=False"),
    bad=Example(
        "train.py",
        "from transformers.optimization import Adafactor\n\n"
        "optimizer = Adafactor(model.parameters(), lr=1e-3, relative_step=False)\n",
    ),
    good=Example(
        "train.py",
        "from transformers.optimization import Adafactor\n\n"
        "optimizer = Adafactor(model.parameters(), lr=1e-3, relative_step=False, scale_parameter=False)\n",
    ),
    aliases=("ADAF002",),
    tips=("S0-31",),
    symptoms=("loss falls slowly", "loss flat"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Calls of transformers' class with a rate from outside."""
    for call in calls_of(run, "Adafactor"):
        rate, relative, scale = (
            call.arguments.get(name) for name in ("lr", "relative_step", "scale_parameter")
        )
        if not is_of_transformers(call) or rate is None or rate.value is None or call.has_rest:
            continue
        is_scaled = scale is None or scale.value is True
        if relative is not None and relative.value is False and is_scaled:
            how = "on by default" if scale is None else "on"
            yield RULE.at(rate.place, rate=rate.raw, how=how)
