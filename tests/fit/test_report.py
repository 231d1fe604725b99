import json

import pytest

from tests.fit.planning import card, pairs_recipe, subject_of, text_recipe
from trimtab.config.read_yaml import read_yaml
from trimtab.fit.ask import answer_on, answers_on_all
from trimtab.fit.report import MOST_OF, as_text, as_values, recipe_lines, text_of_all, verdict


def answer(recipe, gib, **rest):
    return answer_on(subject_of(recipe), card(gib), **rest)


def test_a_recipe_that_fits_is_told_with_every_owner():
    told = answer(text_recipe(), 80.0)
    text = as_text(told)
    assert "fits: " in text.splitlines()[0]
    for owner in told.plan.owners:
        assert owner in text
    for word in ("allocated", "reserved", "driver", "evaluation", "host", "an estimate"):
        assert word in text


def test_a_recipe_that_does_not_fit_ends_with_lines_to_paste():
    told = answer(text_recipe(), 4.0)
    text = as_text(told)
    assert "does not fit" in text.splitlines()[0]
    assert told.climb is not None
    lines = "\n".join(line[4:] for line in text.splitlines() if line.startswith("    "))
    assert read_yaml(lines, name="x").value["step"]["tokens_per_micro_batch"] > 0
    assert told.climb.command_line in text


def test_by_how_much_nothing_fits():
    text = as_text(answer(text_recipe(model__preset="big"), 2.0))
    assert "nothing that a recipe can change makes it fit" in text
    assert "too much" in text


def test_what_fits_only_without_evaluation_is_told():
    recipe = pairs_recipe(step__tokens_per_step=1024, step__tokens_per_micro_batch=1024)
    plan = answer(recipe, 80.0).plan
    between = (plan.driver + plan.evaluation) / 2 / 2**30
    told = answer(recipe, between)
    assert told.trains
    assert not told.fits
    assert "fits only without evaluation" in verdict(told)
    assert told.climb is not None


def test_host_memory_counts_where_it_is_known():
    told = answer(text_recipe(), 80.0, ram=2**30)
    assert not told.fits
    assert "host memory" in verdict(told)
    assert "the host is 0.88 GiB short" in as_text(told)
    both = as_text(answer(text_recipe(), 4.0, ram=2**30))
    assert "it fits with these lines" in both
    assert "the host is 0.88 GiB short" in both
    assert "short" not in as_text(answer(text_recipe(), 4.0, ram=2**40))


@pytest.mark.parametrize(("size", "narrow"), [("batch", 7.0), ("length", 12.0), ("dim", 12.0)])
def test_what_ends_a_search_is_told_where_memory_is_left(size, narrow):
    ends, full = (answer(text_recipe(), gib, size=size) for gib in (10.0**6, narrow))
    assert ends.solved is not None
    assert as_text(ends).endswith(MOST_OF[ends.solved.key] + "\n")
    assert as_values(ends)["solved"]["is_most"] is True
    assert as_values(full)["solved"]["is_most"] is False
    assert "the largest that fits" in as_text(full).splitlines()[-1]


def test_values_are_json_and_have_the_same_numbers():
    told = answer(pairs_recipe(), 2.5)
    values = json.loads(json.dumps(as_values(told)))
    assert values["bytes"]["driver"] == told.plan.driver
    assert values["fits"] is False
    assert values["changes"]["settings"]


def test_all_cards_are_listed_and_the_smallest_is_named():
    answers = answers_on_all(subject_of(text_recipe()))
    text = text_of_all(answers)
    smallest = next(each for each in answers if each.fits)
    assert f"fits on: {smallest.gpu.name}" in text.splitlines()[0]
    assert all(each.gpu.name in text for each in answers)


def test_lines_of_one_group_stand_under_it():
    lines = recipe_lines([("step.compile", "on"), ("data.max_tokens", "8"), ("step.ema", "null")])
    assert lines == ["step:", "  compile: on", "  ema: null", "data:", "  max_tokens: 8"]
