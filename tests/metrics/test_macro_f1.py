import math

import pytest

from trimtab.metrics.macro_f1 import MACRO_F1, macro_f1
from trimtab.metrics.metric import GivenLabels


def test_each_label_counts_alike():
    # Label 0: precision 2/3, recall 1, F1 0.8; label 1: precision 1, recall 1/2, F1 2/3.
    assert macro_f1(GivenLabels(predicted=[0, 0, 0, 1], true=[0, 0, 1, 1])) == pytest.approx(
        (0.8 + 2 / 3) / 2
    )


def test_a_label_that_is_given_and_never_true_counts_as_0():
    assert macro_f1(GivenLabels(predicted=[0, 2], true=[0, 0])) == pytest.approx((2 / 3 + 0) / 2)


def test_of_nothing_it_is_no_number():
    assert math.isnan(MACRO_F1.compute(GivenLabels(predicted=[], true=[])))
