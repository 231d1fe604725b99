from tests.small_run import small_recipe
from trimtab.checks.check import check
from trimtab.checks.check_recipe import check_recipe
from trimtab.config.load import load_recipe, parse_recipe

COPY = {"data.train": [{"source": "train.en", "target": "train.en"}]}


def codes(loaded):
    return [finding.code for finding in check_recipe(loaded)]


def test_it_finds_what_the_check_of_the_file_finds(tmp_path):
    recipe = small_recipe(tmp_path, **COPY, **{"step.schedule.warmup": "55 steps", "checkpoint.keep": 1})
    found = check_recipe(load_recipe(recipe))
    assert "D106" in [finding.code for finding in found]
    assert found == [diagnosis.finding for diagnosis in check(recipe).diagnoses]


def test_what_the_command_line_sets_is_checked_too_and_named(tmp_path):
    recipe = small_recipe(tmp_path)
    assert codes(load_recipe(recipe)) == []
    (found,) = check_recipe(load_recipe(recipe, ["data.train.0.target=train.en"]))
    assert (found.code, found.where) == ("D106", "command line: data.train.0.target=train.en")
    bad = small_recipe(tmp_path, **COPY)
    assert codes(load_recipe(bad, ["data.train.0.target=train.de"])) == []
    (found,) = check_recipe(load_recipe(bad, ["seed=2"]))
    assert found.where.startswith(f"{bad}:")


def test_what_the_file_allows_is_left_out_whatever_is_overridden():
    text = """
data:
  train:
    - source: train.en
      target: train.en  # trimtab: allow D106 because it learns to copy
  valid: {source: dev.en, target: dev.de}
model: {preset: tiny}
length: 4000 steps
"""
    assert codes(parse_recipe(text)) == []
    assert codes(parse_recipe(text, overrides=["seed=2"])) == []
    assert codes(parse_recipe(text.replace("# trimtab", "# "))) == ["D106"]
