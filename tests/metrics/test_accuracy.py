import math

from trimtab.metrics.accuracy import ACCURACY, accuracy
from trimtab.metrics.metric import GivenLabels


def test_it_is_the_share_of_right_labels():
    assert accuracy(GivenLabels(predicted=[0, 1, 1, 2], true=[0, 1, 2, 2])) == 0.75


def test_of_nothing_it_is_no_number():
    assert math.isnan(ACCURACY.compute(GivenLabels(predicted=[], true=[])))
