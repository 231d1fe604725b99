import pytest

from trimtab.config.resets import (
    CHANGES,
    MAY_CHANGE,
    RESETS,
    check_resumes,
    fixes_for,
    may_change,
    needed_for,
    parse_reset,
)
from trimtab.errors import InputError


@pytest.mark.parametrize(
    ("name", "needed"),
    [
        ("recipe.length", "nothing"),
        ("recipe.evaluate.best.metric", "nothing"),
        ("recipe.data.valid", "nothing"),
        ("recipe.step.optimizer.betas", "optimizer"),
        ("recipe.step.optimizer.learning_rate", "schedule"),
        ("recipe.step.optimizer.learning_rate_multipliers.hidden", "schedule"),
        ("recipe.step.schedule.kind", "schedule"),
        ("recipe.data.train", "data"),
        ("data.train.0", "data"),
        ("data.train.1 reversed", "data"),
        ("recipe.data.tokenizer.vocabulary_size", "another run"),
        ("recipe.model.dim", "another run"),
        ("recipe.step.precision", "another run"),
        ("tokenizer", "another run"),
        ("recipe.dat", "another run"),
    ],
)
def test_the_longest_name_of_the_table_decides(name, needed):
    assert needed_for(name) == needed


def test_each_reset_but_best_lets_something_change():
    assert {*CHANGES.values()} == {"nothing", "another run", *RESETS} - {"best"}
    assert may_change(()) == MAY_CHANGE
    assert {*may_change(("data",))} - {*MAY_CHANGE} == {name for name in CHANGES if CHANGES[name] == "data"}


def test_the_way_out_names_all_resets_that_are_needed_together():
    fixes = fixes_for(["recipe.loss.label_smoothing", "recipe.seed", "recipe.model.dim"], ("best",))
    assert "--reset optimizer,data,best`" in fixes["recipe.seed"] == fixes["recipe.loss.label_smoothing"]
    assert "--reset" not in fixes["recipe.model.dim"]


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("data, optimizer", ("optimizer", "data")),
        (["best", "data"], ("data", "best")),
        ((), ()),
        ("", ()),
        ("best", ("best",)),
    ],
)
def test_resets_come_in_their_order(given, found):
    assert parse_reset(given) == found


@pytest.mark.parametrize("given", ["moments", ["optimizer", "lr"], ","])
def test_other_words_are_refused(given):
    with pytest.raises(InputError, match="--reset: nothing of that name"):
        parse_reset(given)


def test_nothing_is_reset_in_a_new_run_or_at_each_start_of_a_job():
    check_resumes(("data",), resume=True)
    check_resumes((), resume=False)
    with pytest.raises(InputError, match="only where a run resumes"):
        check_resumes(("data",), resume=False)
    with pytest.raises(InputError, match="not beside --auto-resume"):
        check_resumes(("data",), resume="auto")
