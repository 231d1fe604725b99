import json

import pytest

from tests.for_each import for_each
from trimtab.checkpoint.fingerprints import check_fingerprints, recipe_fingerprints
from trimtab.errors import InputError


def test_a_recipe_has_one_entry_for_each_setting():
    tree = {"seed": 1, "step": {"clip": {"at": 1.0}, "betas": [0.9, 0.98]}, "transforms": {}, "best": None}
    assert recipe_fingerprints(tree) == {
        "recipe.seed": "1",
        "recipe.step.clip.at": "1.0",
        "recipe.step.betas": "[0.9, 0.98]",
        "recipe.transforms": "{}",
        "recipe.best": "null",
    }


def test_equal_fingerprints_pass():
    check_fingerprints({"data": "a"}, {"data": "a"})
    check_fingerprints({}, {})


def test_every_difference_is_named_with_both_values():
    saved = {"data": "d1", "tokenizer": "t1", "recipe.seed": "1", "recipe.old": "0"}
    with pytest.raises(InputError) as caught:
        check_fingerprints(saved, {"data": "d2", "tokenizer": "t1", "recipe.seed": "2", "recipe.new": "5"})
    assert caught.value.exit_code == 2
    assert [(each.what.split()[0], each.got, each.allowed) for each in caught.value.problems] == [
        ("data", "d2", "d1"),
        ("recipe.new", "5", "nothing"),
        ("recipe.old", "nothing", "0"),
        ("recipe.seed", "2", "1"),
    ]
    assert str(caught.value.problems[0]) == (
        "data has changed since the checkpoint was written\n"
        "  got     d2\n"
        "  allowed d1\n"
        "  fix     restore it (repeat it if it came from the command line), or start a new run with another --out"
    )


def test_what_may_change_passes_with_all_that_lies_under_it_and_nothing_beside():
    saved = {"recipe.evaluate.every": "1", "recipe.evaluate_more": "1", "recipe.length": "1"}
    changed = dict.fromkeys(saved, "2")
    with pytest.raises(InputError) as caught:
        check_fingerprints(saved, changed, may_change=["recipe.evaluate", "recipe.length"])
    assert [each.what.split()[0] for each in caught.value.problems] == ["recipe.evaluate_more"]


CORPUS = {"source": "a", "weight": 1.0}
THEN = {"recipe.seed": "1", "recipe.train": json.dumps([CORPUS])}
NOW = {
    "recipe.seed": "1",
    "recipe.train": json.dumps([CORPUS | {"noise": None}]),
    "recipe.temperature": "1.0",
}


def test_settings_that_are_newer_than_the_run_pass_at_their_defaults():
    check_fingerprints(THEN, NOW, as_read_now=NOW)


@for_each(
    "changes",
    [
        {"recipe.temperature": "5.0"},
        {"recipe.train": json.dumps([CORPUS | {"noise": "mask"}])},
        {"recipe.train": json.dumps([CORPUS | {"noise": None, "weight": 2.0}])},
        {"recipe.train": json.dumps([CORPUS | {"noise": None}] * 2)},
        {"recipe.seed": "2"},
    ],
)
def test_a_newer_setting_at_another_value_and_every_old_one_do_not(changes):
    with pytest.raises(InputError) as caught:
        check_fingerprints(THEN, NOW | changes, as_read_now=NOW)
    assert [each.what.split()[0] for each in caught.value.problems] == list(changes)


def test_a_stored_recipe_that_was_edited_does_not_open_the_door():
    """What the checkpoint knows is compared with the checkpoint, whatever the stored recipe says by now."""
    edited = NOW | {"recipe.seed": "2", "recipe.train": json.dumps([CORPUS | {"noise": None, "weight": 2.0}])}
    with pytest.raises(InputError) as caught:
        check_fingerprints(THEN, edited, as_read_now=edited)
    assert [each.what.split()[0] for each in caught.value.problems] == ["recipe.seed", "recipe.train"]


def test_a_group_that_one_of_the_two_lacks_is_one_difference():
    saved = {"recipe.adapter.kind": '"lora"', "recipe.adapter.rank": "4", "recipe.seed": "1"}
    with pytest.raises(InputError) as caught:
        check_fingerprints(saved, {"recipe.adapter": "null", "recipe.seed": "1"})
    (problem,) = caught.value.problems
    assert problem.what.startswith("recipe.adapter has changed")
    assert (problem.got, problem.allowed) == ("null", 'kind: "lora", rank: 4')
