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

    def clean_recipe(loaded, *, out, progress):
        seen.append((loaded.recipe.data.max_tokens, out))
        return Report(7)

    def clean_files(source, target, *, pairs, source_language, target_language, out, progress):
        seen.append((source, target, pairs, source_language, target_language, out))
        return Report(3, ("nothing is kept",))

    stand_in(
        "cleaning",
        clean_recipe=clean_recipe,
        clean_files=clean_files,
        render_clean=lambda report: f"{report.pairs} pairs",
    )
    return seen


def test_a_recipe_is_cleaned_with_its_overrides(call, calls, recipe, tmp_path):
    result = call("data", "clean", recipe, "data.max_tokens=100", "--out", tmp_path / "new")
    assert (result.exit_code, result.stdout) == (0, "7 pairs\n")
    assert calls == [(100, tmp_path / "new")]
    assert json.loads(call("data", "clean", recipe, "--json").stdout) == {"pairs": 7, "problems": []}


def test_files_are_cleaned_without_a_recipe_and_nothing_kept_is_exit_code_1(call, calls):
    result = call("data", "clean", "--source", "a.en", "--target", "2", "--source-language", "en")
    assert (result.exit_code, result.stdout) == (1, "3 pairs\n")
    call("data", "clean", "--pairs", "p.tsv", "--source", 1, "--target", "de")
    assert calls == [("a.en", "2", None, "en", None, None), (1, "de", "p.tsv", None, None, None)]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["RECIPE", "--source", "a.en"], "--source: given beside a recipe"),
        ([], "no recipe, and no files"),
        (["--source", "a.en"], "--target: missing"),
        (["--source-language", "en"], "no recipe, and no files"),
    ],
)
def test_it_is_a_recipe_or_files(call, calls, recipe, arguments, said):
    result = call("data", "clean", *[recipe if each == "RECIPE" else each for each in arguments])
    assert result.exit_code == 2
    assert said in result.stderr
    assert "fix" in result.stderr
    assert calls == []


def test_help_shows_an_example(call):
    assert "trimtab data clean" in call("data", "clean", "--help").stdout
