from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fit.planning import card, pairs_recipe, subject_of, text_recipe
from trimtab.fit.climb import EXACT, ROUNDED, cheapest_climb, smallest_plan
from trimtab.fit.memory_size import GIB


def climb_of(recipe, gib):
    return cheapest_climb(subject_of(recipe).on(card(gib)))


def keys(climb):
    return [change.key for change in climb.changes]


def test_a_smaller_micro_batch_comes_first():
    climb = climb_of(text_recipe(step__compile="on"), 5.0)
    assert climb is not None
    assert keys(climb) == ["step.tokens_per_micro_batch"]
    assert all(change.effect == EXACT for change in climb.changes)


def test_what_changes_the_training_comes_only_where_nothing_else_fits():
    recipe = text_recipe(model__preset="big", step__compile="on", step__cuda_graph="off")
    climb = climb_of(recipe, 20.5)
    assert climb is not None
    assert max(change.effect for change in climb.changes) == ROUNDED
    assert "step.precision=bf16" in climb.command_line


def test_nothing_is_proposed_where_nothing_fits_and_the_least_is_told():
    situation = subject_of(text_recipe(model__preset="big")).on(card(2.0))
    assert cheapest_climb(situation) is None
    assert smallest_plan(situation).peak > 2 * GIB


@settings(deadline=None, max_examples=8)
@given(
    st.floats(0.9, 30.0),
    st.sampled_from(["small", "base", "big"]),
    st.sampled_from(["auto", "fp32", "bf16_mixed", "bf16"]),
    st.sampled_from(["adamw", "lion"]),
    st.booleans(),
)
def test_every_proposal_is_a_recipe_that_fits(gib, preset, precision, optimizer, has_ema):
    """The lines go through the same checks as any recipe's, and its plan is the one that was proposed."""
    if precision == "bf16" and (optimizer != "adamw" or has_ema):
        return
    given_keys = {
        "model__preset": preset,
        "step__precision": precision,
        "step__optimizer": {"kind": optimizer},
        "step__ema": {} if has_ema else None,
    }
    climb = climb_of(text_recipe(**given_keys), gib)
    if climb is None:
        return
    changed = text_recipe(**(given_keys | as_overrides(climb)))
    plan = subject_of(changed).on(card(gib)).planned(changed)
    assert plan.peak == climb.plan.peak <= card(gib).memory


def as_overrides(climb):
    from trimtab.config.read_yaml import read_yaml

    return {
        change.key.replace(".", "__"): read_yaml(f"value: {change.value}", name="x").value["value"]
        for change in climb.changes
    }


@pytest.mark.parametrize("gib", [2.0, 2.5, 3.0])
def test_translators_climb_too(gib):
    climb = climb_of(pairs_recipe(), gib)
    assert climb is not None
    changed = pairs_recipe(**as_overrides(climb))
    assert subject_of(changed, Path()).on(card(gib)).planned(changed).peak <= card(gib).memory
