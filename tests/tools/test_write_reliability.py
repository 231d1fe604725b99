import importlib.util
from pathlib import Path

import pytest

from tests.faults.rows import Row, read_rows

TOOL = Path(__file__).parents[2] / "tools" / "write_reliability.py"


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("write_reliability", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


ROWS = [
    Row(number=1, fault="a kill", right="EXACT", state="full", tests=("tests/a.py::test_a",)),
    Row(number=2, fault="a rank dies", right="SAFE", state="absent", note="nothing is distributed yet"),
]


def result(kind, tried, held, lost=()):
    return {
        "seconds": 60.0,
        "counts": [{"kind": kind, "tried": tried, "held": held, "steps_lost": list(lost)}],
    }


RESULTS = {
    "machine": "CPU",
    "versions": {"torch": "2"},
    "tests": {
        "tests/a.py::test_a[0]": result("random kills", 10, 10, [3, 4]),
        "tests/a.py::test_a[2]": result("random kills", 30, 29, [1]),
        "tests/b.py::test_b": result("corruptions", 800, 800, [9]),
    },
}


def test_counts_are_added_up_and_what_did_not_hold_stays_visible(tool):
    text = tool.page(ROWS, RESULTS, costs=[("guards", {"answer": "0.4% of a step"}), ("saves", None)])
    assert "| random kills | 40 | 39 |" in text
    assert "| corruptions | 800 | 800 |" in text
    assert "3 minutes in all" in text
    assert "- guards: 0.4% of a step\n- saves: not measured\n" in text


def test_a_row_has_the_most_steps_that_its_own_tests_lost(tool):
    text = tool.page(ROWS, RESULTS, costs=[])
    assert "| 1 | a kill | EXACT | in part with `just faults` only | 4 |" in text
    assert "| 2 | a rank dies | SAFE | nothing to test |  |" in text
    assert "- 2, a rank dies: nothing is distributed yet." in text


def test_without_results_nothing_is_claimed(tool):
    assert "Not measured here" in tool.page(ROWS, None, costs=[])


def test_the_page_in_the_documentation_is_the_one_that_is_written(tool):
    costs = [(name, tool.recorded(file)) for name, file in tool.COSTS]
    expected = tool.page(read_rows(), tool.recorded(tool.RESULTS), costs=costs, gpu=tool.recorded(tool.GPU))
    assert tool.PAGE.read_text(encoding="utf-8") == expected


@pytest.mark.parametrize(("percent", "said"), [(0.2, "is reached"), (8.3, "is missed")])
def test_the_price_of_the_guard_is_held_against_the_goal(tool, percent, said):
    guard = {"overhead_percent": percent, "overhead_percent_of_rounds": [percent, 0.5]}
    told = tool.cost({"card": "a card", "presets": {"base": {"guard": guard}}})
    assert told == (
        f"{percent}% of a step of the base preset on one a card (rounds: {percent}, 0.5). The goal, 1%, {said}"
    )


def test_what_ran_on_a_gpu_is_counted_by_outcome(tool):
    found = {"card": "a card", "torch": "2", "outcomes": {"passed": 9, "failure": 1}}
    assert "Tests that need a GPU: 1 failure, 9 passed on one a card" in tool.page(
        ROWS, None, costs=[], gpu=found
    )
    assert "Tests that need a GPU: not run" in tool.page(ROWS, None, costs=[])
