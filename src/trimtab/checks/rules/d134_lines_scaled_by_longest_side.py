"""D134 lines-scaled-by-longest-side"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic
from trimtab.checks.own_key import own, own_value
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_RATIO = 25
"""Width over height of a printed line of some 80 characters."""
_LEGIBLE = 16
"""Pixels; in fewer, small letters are 6 pixels high or less."""
_SIZE = 32
_RECIPE = (
    "task: recognition\ndata:\n  train: [{{images: lines}}]\n  images: {{fit: {fit}, size: 32}}\n"
    "model: {{kind: vision, preset: tiny}}\nlength: 600 steps\n"
)

RULE = Rule(
    code="D134",
    name="lines-scaled-by-longest-side",
    severity="warning",
    message="lines of text are scaled to a longest side of {size} pixels: a line {ratio} times as wide as high becomes "
    "{height:.2g} pixels high",
    why="`fit: longest` suits images of mixed shapes. A printed line is often 25 times as wide as high, and the longer "
    "it is, the fewer pixels are left for its height.",
    evidence=(
        Arithmetic(
            "A line of 2,000 x 80 pixels is 32 x 1.3 with `fit: longest, size: 32`, and 800 x 32 with `fit: height`."
        ),
    ),
    fix=Fix("set `data.images.fit: height`, or `data.images.size` to at least {least}"),
    bad=Example("recipe.yaml", _RECIPE.format(fit="longest")),
    good=Example("recipe.yaml", _RECIPE.format(fit="height")),
    tips=("S0-55",),
    symptoms=("character error rate stays high", "long lines are read wrongly"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires for recognition recipes that say so."""
    fit = own(run, "data.images.fit") if run.tool == "trimtab" else None
    if fit is None or fit.value != "longest" or run.value("task") != "recognition":
        return
    written = own_value(run, "data.images.size")
    size = written if isinstance(written, int) else _SIZE
    if size < _LEGIBLE * _RATIO:
        yield RULE.at(fit, size=size, ratio=_RATIO, height=size / _RATIO, least=_LEGIBLE * _RATIO)
