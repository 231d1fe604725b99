"""How well a classifier labels its examples: accuracy and macro F1."""

from collections import Counter

from trimtab.metrics.metric import GivenLabels, LabelMetric


def accuracy(given: GivenLabels) -> float:
    """The share of examples with the right label, from 0 to 1; NaN where there is no example."""
    right = sum(one == other for one, other in zip(given.predicted, given.true, strict=True))
    return right / len(given.true) if given.true else float("nan")


def macro_f1(given: GivenLabels) -> float:
    """F1 of each label, averaged with equal weights, so that rare labels count as much as common ones.

    The mean is over the labels that an example has or was given, as scikit-learn's `f1_score(average="macro")`; from 0
    to 1, NaN where there is no example.
    """
    right = Counter(one for one, other in zip(given.predicted, given.true, strict=True) if one == other)
    predicted, true = Counter(given.predicted), Counter(given.true)
    labels = predicted.keys() | true.keys()
    # F1 = 2 · right / (predicted + true), whose divisor is above 0 for each of these labels.
    f1 = [2 * right[label] / (predicted[label] + true[label]) for label in sorted(labels)]
    return sum(f1) / len(f1) if f1 else float("nan")


ACCURACY = LabelMetric(
    name="accuracy", label="accuracy", about="share of examples with the right label", compute=accuracy
)
MACRO_F1 = LabelMetric(
    name="macro_f1", label="macro F1", about="F1 of each label, averaged over labels", compute=macro_f1
)
