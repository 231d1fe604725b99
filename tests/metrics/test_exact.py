import math

from trimtab.metrics.exact import exact
from trimtab.metrics.metric import Readings


def test_lines_without_an_error_are_counted():
    assert exact(Readings(outputs=["a", "b ", ""], references=["a", "b", ""])) == 2 / 3
    assert math.isnan(exact(Readings(outputs=[], references=[])))
