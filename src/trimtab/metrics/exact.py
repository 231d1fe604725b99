"""The share of lines that are read without an error."""

from trimtab.metrics.metric import ReadingMetric, Readings


def exact(given: Readings) -> float:
    """From 0 to 1; NaN where there is no line."""
    right = sum(one == other for one, other in zip(given.outputs, given.references, strict=True))
    return right / len(given.references) if given.references else float("nan")


EXACT = ReadingMetric(
    name="exact",
    label="exact",
    about="share of lines that are read without an error",
    compute=exact,
    lower_is_better=False,
)
