import json
from dataclasses import dataclass

import pytest


@dataclass(frozen=True)
class Report:
    pairs: int


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
    assert json.loads(call("data", "inspect", recipe, "--json").stdout) == {"pairs": 7}


def test_a_wrong_recipe_is_exit_code_2(call, calls, recipe):
    assert call("data", "inspect", recipe, "data.max_token=100").exit_code == 2
    assert calls == []
