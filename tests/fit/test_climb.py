from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fit.planning import card, pairs_recipe, subject_of, text_recipe
from tests.for_each import for_each
from trimtab.fit.climb import (
    EXACT,
    ROUNDED,
    TRAINED_OTHERWISE,
    cheapest_climb,
    may_be_released,
    smallest_plan,
)
from trimtab.fit.constants import PROPOSED_SHARE
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


@pytest.mark.slow
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
    if precision == "bf16" and has_ema:
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


@pytest.mark.quick("2.0")
@pytest.mark.parametrize("gib", [2.0, 2.5, 3.0])
def test_translators_climb_too(gib):
    climb = climb_of(pairs_recipe(), gib)
    assert climb is not None
    changed = pairs_recipe(**as_overrides(climb))
    assert subject_of(changed, Path()).on(card(gib)).planned(changed).peak <= card(gib).memory


BIG = {
    "model__preset": "big",
    "step__precision": "bf16",
    "step__compile": "off",
    "step__tokens_per_step": 2048,
    "step__tokens_per_micro_batch": 2048,
}


@for_each(
    ("key", "value", "effect"),
    [
        ("step.recompute", "block", EXACT),
        ("step.gradients", "released", EXACT),
        ("step.optimizer.states", "8bit", ROUNDED),
        ("step.optimizer.states", "4bit", TRAINED_OTHERWISE),
    ],
)
def test_a_card_that_is_large_enough_with_a_rung_gets_nothing_worse(key, value, effect):
    name, _, inner = key.partition(".")[2].partition(".")
    begun = BIG | ({} if name == "recompute" else {"step__recompute": "block"})
    before = text_recipe(**begun)
    rung = {f"step__{name}": {"kind": "adamw", inner: value} if inner else value}
    with_rung = text_recipe(**(begun | rung))
    peaks = [subject_of(each).on(card(80)).planned(each).peak for each in (before, with_rung)]
    gib = peaks[1] / GIB / (PROPOSED_SHARE - 0.001)
    assert peaks[0] > gib * GIB
    climb = climb_of(before, gib)
    assert climb is not None
    assert max(change.effect for change in climb.changes) <= effect
    saving = {"step.recompute", "step.gradients", "step.optimizer.states", "step.cuda_graph"}
    assert saving & {*keys(climb)}


def test_released_gradients_are_offered_only_where_they_are_allowed():
    for refused in (
        {"step__tokens_per_micro_batch": 1024},
        {"step__clip": {"kind": "adaptive"}},
        {"step__ema": {}},
        {"step__cuda_graph": "on"},
    ):
        recipe = text_recipe(
            **({"step__tokens_per_step": 2048, "step__tokens_per_micro_batch": 2048} | refused)
        )
        assert not may_be_released(recipe)
    assert may_be_released(text_recipe(step__tokens_per_step=2048, step__tokens_per_micro_batch=2048))


def test_states_go_to_the_host_only_where_its_memory_is_known_to_be_enough():
    recipe = text_recipe(model__preset="big", step__compile="on", step__cuda_graph="off")
    subject = subject_of(recipe)
    of = {ram: cheapest_climb(subject.on(card(20.5), ram=ram)) for ram in (None, 8 * GIB, 64 * GIB)}
    assert {ram for ram, climb in of.items() if "step.offload" in keys(climb)} == {64 * GIB}
    assert all(change.effect == EXACT for change in of[64 * GIB].changes)
    assert of[64 * GIB].slowdown > 0
