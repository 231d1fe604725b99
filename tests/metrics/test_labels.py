import math

import pytest

from trimtab.metrics.labels import ACCURACY, MACRO_F1, accuracy, macro_f1
from trimtab.metrics.metric import GivenLabels


def test_accuracy_is_the_share_of_right_labels():
    assert accuracy(GivenLabels(predicted=[0, 1, 1, 2], true=[0, 1, 2, 2])) == 0.75


def test_each_label_counts_alike():
    # Label 0: precision 2/3, recall 1, F1 0.8; label 1: precision 1, recall 1/2, F1 2/3.
    assert macro_f1(GivenLabels(predicted=[0, 0, 0, 1], true=[0, 0, 1, 1])) == pytest.approx(
        (0.8 + 2 / 3) / 2
    )


def test_a_label_that_is_given_and_never_true_counts_as_0():
    assert macro_f1(GivenLabels(predicted=[0, 2], true=[0, 0])) == pytest.approx((2 / 3 + 0) / 2)


@pytest.mark.parametrize("metric", [ACCURACY, MACRO_F1], ids=lambda metric: metric.name)
def test_of_nothing_they_are_no_number(metric):
    assert math.isnan(metric.compute(GivenLabels(predicted=[], true=[])))
