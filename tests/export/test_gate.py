import math

from tests.export.test_translation_gate import GOOD
from trimtab.export.gate import SHOWN, GateReport, largest, with_examples


def test_a_difference_that_is_no_number_is_the_largest():
    assert largest([]) == 0.0
    assert largest([0.25, 0.5]) == 0.5
    assert math.isnan(largest([0.5, math.nan, 0.25]))
    assert largest([0.5, math.inf]) == math.inf


def test_a_report_shows_a_few_examples_of_each_kind():
    shown = with_examples(["head"], [f"a{number}" for number in range(9)], ["b0"])
    assert shown.splitlines() == ["head", *(f"  a{number}" for number in range(SHOWN)), "  b0"]


def test_reports_of_translations_are_reports():
    assert isinstance(GOOD, GateReport)
