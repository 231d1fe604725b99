"""The share of examples with the right label."""

from trimtab.metrics.metric import GivenLabels, LabelMetric


def accuracy(given: GivenLabels) -> float:
    """From 0 to 1; NaN where there is no example."""
    right = sum(one == other for one, other in zip(given.predicted, given.true, strict=True))
    return right / len(given.true) if given.true else float("nan")


ACCURACY = LabelMetric(
    name="accuracy", label="accuracy", about="share of examples with the right label", compute=accuracy
)
