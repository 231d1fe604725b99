import json
from dataclasses import dataclass

import pytest


@dataclass(frozen=True)
class Report:
    pairs: int
    problems: tuple[str, ...] = ()


@pytest.fixture
def calls(stand_in):
    seen = []

    def inspect_recipe(loaded, *, limit, progress):
        seen.append((loaded.recipe.data.max_tokens, limit))
        return Report(pairs=7)

    stand_in("inspection", inspect_recipe=inspect_recipe, render=lambda report: f"{report.pairs} pairs")
    return seen


def test_the_report_is_printed(call, calls, recipe):
    result = call("data", "inspect", recipe, "data.max_tokens=100", "--limit", 50)
    assert (result.exit_code, result.stdout) == (0, "7 pairs\n")
    assert calls == [(100, 50)]


def test_json_is_json(call, calls, recipe):
    assert json.loads(call("data", "inspect", recipe, "--json").stdout) == {"pairs": 7, "problems": []}


def test_a_wrong_recipe_is_exit_code_2(call, calls, recipe):
    assert call("data", "inspect", recipe, "data.max_token=100").exit_code == 2
    assert calls == []


def test_a_problem_such_as_nothing_left_to_train_on_is_exit_code_1(call, calls, recipe, stand_in):
    stand_in(
        "inspection",
        inspect_recipe=lambda loaded, **named: Report(pairs=0, problems=("nothing is left",)),
        render=lambda report: "none",
    )
    result = call("data", "inspect", recipe)
    assert (result.exit_code, result.stdout) == (1, "none\n")
