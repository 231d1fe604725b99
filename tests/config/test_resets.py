import pytest

from tests.for_each import for_each
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


@for_each(
    ("name", "needed"),
    [
        ("recipe.length", "nothing"),
        ("recipe.evaluate.best.metric", "nothing"),
        ("recipe.data.valid", "nothing"),
        ("recipe.step.optimizer.betas", "optimizer"),
        ("recipe.step.optimizer.learning_rate", "learning_rate"),
        ("recipe.step.optimizer.learning_rate_multipliers.hidden", "learning_rate"),
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


def test_the_way_out_of_a_run_whose_model_is_pretrained_is_its_merged_weights():
    fixes = fixes_for(["recipe.adapter.rank", "recipe.seed"], (), pretrained_run="my runs/chat")
    assert "`trimtab export 'my runs/chat' --to hf --out MERGED`" in fixes["recipe.adapter.rank"]
    assert "warm_start" not in fixes["recipe.adapter.rank"]
    assert "--reset data`" in fixes["recipe.seed"]


@for_each(
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
    with pytest.raises(InputError, match="--reset: unknown part of a run"):
        parse_reset(given)


def test_nothing_is_reset_in_a_new_run_or_at_each_start_of_a_job():
    check_resumes(("data",), resume=True)
    check_resumes((), resume=False)
    with pytest.raises(InputError, match="only for a run that resumes"):
        check_resumes(("data",), resume=False)
    with pytest.raises(InputError, match="cannot be combined with --auto-resume"):
        check_resumes(("data",), resume="auto")


def test_a_schedule_that_starts_over_may_have_another_learning_rate():
    rate, kind = "recipe.step.optimizer.learning_rate", "recipe.step.schedule.kind"
    assert rate in may_change(("schedule",))
    assert rate in may_change(("learning_rate",))
    assert kind not in may_change(("learning_rate",))
    assert "--reset learning_rate`" in fixes_for([rate], ())[rate]
    assert "--reset schedule`" in fixes_for([rate, kind], ())[rate]
