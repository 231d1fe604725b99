import math
from dataclasses import replace

from tests.fake_ranks import Twins
from trimtab.config.run import Best, EvaluateConfig
from trimtab.run_clock import RunClock, StopRule
from trimtab.training.validate import with_best
from trimtab.types import TrainState
from trimtab.units import Duration

BY_CHRF = EvaluateConfig()


def in_terms_of(metric):
    return EvaluateConfig(best=Best(metric=metric))


def test_the_best_evaluation_is_the_highest_score_or_the_lowest_loss():
    state = TrainState()
    for step, value in ((1, 10.0), (2, 9.0), (3, 10.0), (4, 11.0), (5, math.nan)):
        state = with_best(replace(state, step=step), {"valid": {"chrf": value, "loss": 3.0}}, BY_CHRF)
    assert (state.best["step"], state.best["value"], state.best["since"]) == (4, 11.0, 1)
    by_loss = in_terms_of("loss")
    state = TrainState()
    for step, value in ((1, math.nan), (2, 3.0), (3, 3.0), (4, 2.0), (5, math.inf)):
        state = with_best(replace(state, step=step), {"valid": {"chrf": 1.0, "loss": value}}, by_loss)
    assert (state.best["step"], state.best["value"], state.best["since"]) == (4, 2.0, 1)


def test_the_fewest_edits_are_the_best():
    by_ter, state = in_terms_of("ter"), TrainState()
    for step, value in ((1, 80.0), (2, 110.0), (3, 60.0), (4, 60.0)):
        state = with_best(replace(state, step=step), {"valid": {"chrf": 1.0, "ter": value}}, by_ter)
    assert (state.best["metric"], state.best["step"], state.best["value"], state.best["since"]) == (
        "ter",
        3,
        60.0,
        1,
    )


def test_another_measure_of_the_best_begins_anew():
    state = with_best(TrainState(step=1), {"valid": {"chrf": 40.0, "loss": 2.0}}, BY_CHRF)
    state = with_best(replace(state, step=2), {"valid": {"chrf": 41.0, "loss": 2.5}}, in_terms_of("loss"))
    assert (state.best["metric"], state.best["value"], state.best["step"]) == ("loss", 2.5, 2)
    state = with_best(replace(state, step=3), {"valid": {"chrf": 1.0, "loss": 2.0}}, BY_CHRF)
    assert (state.best["metric"], state.best["value"], state.best["step"]) == ("chrf", 1.0, 3)


def test_scores_of_the_average_and_of_the_weights_are_not_compared():
    state = with_best(TrainState(step=1), {"valid": {"chrf": 40.0}}, BY_CHRF)
    assert "weights" not in state.best
    averaged = EvaluateConfig(weights="ema")
    state = with_best(replace(state, step=2), {"valid": {"chrf": 30.0}}, averaged)
    assert (state.best["value"], state.best["step"], state.best["weights"]) == (30.0, 2, "ema")


def test_the_named_set_chooses_and_by_default_the_first():
    scores = {"one": {"loss": 2.0}, "two": {"loss": 3.0}}
    assert with_best(TrainState(), scores, in_terms_of("loss")).best["set"] == "one"
    config = EvaluateConfig(best=Best(metric="loss", set="two"))
    assert with_best(TrainState(), scores, config).best["value"] == 3.0


def after(evaluations, *, config=BY_CHRF, warming_up=()):
    """The state after evaluations of (value, loss), the first at step 1."""
    state, metric = TrainState(), config.best.metric
    for step, (value, loss) in enumerate(evaluations, start=1):
        scores = {"valid": {"loss": loss, metric: value}}
        state = with_best(replace(state, step=step), scores, config, warming_up=step in warming_up)
    return state.best


def test_of_equal_scores_the_one_with_the_lower_loss_is_the_best():
    """A score is rounded, and early in a run it may be the same while the loss falls."""
    assert after([(1.138, 5.0), (1.138, 4.0), (1.138, 4.5)])["step"] == 2
    assert after([(1.138, math.nan), (1.138, 4.0), (1.138, math.nan)])["step"] == 2
    assert after([(80.0, 5.0), (80.0, 4.0)], config=in_terms_of("ter"))["step"] == 2
    assert after([(1.138, 5.0), (2.0, 9.0)])["step"] == 2, "the loss only decides between equals"


def test_patience_counts_no_evaluation_of_the_warmup_and_none_whose_loss_falls():
    flat = [(0.0, 5.0), (0.0, 4.0), (0.0, 3.0)]
    assert after(flat)["since"] == 0
    assert after([(0.5, 6.0), *flat, (0.0, 3.0), (0.0, 3.00004)])["since"] == 5
    falling = [(2.0, 5.0), (1.0, 4.0), (1.0, 4.0), (1.0, 3.0)]
    assert after(falling, warming_up=(1, 2, 3))["since"] == 1
    by_loss = in_terms_of("loss")
    assert after([(3.0, 3.0), (4.0, 4.0), (5.0, 5.0)], config=by_loss, warming_up=(1, 2))["since"] == 1


def test_patience_waits_until_the_metric_has_moved():
    """A loss may rest on a plateau before the model learns to look at its source, with a score that stays the same."""
    plateau = [(1.138, 5.0), (1.138, 5.2), (1.138, 5.1)]
    assert after(plateau)["since"] == 0
    assert after([*plateau, (1.2, 4.0), (1.1, 4.0), (1.2, 4.0)])["since"] == 2
    assert after([*plateau, (1.0, 5.0), (1.138, 5.0)])["since"] == 2


def stalls(evaluations, on):
    """The state after evaluations of (chrF, loss) that stop on these metrics."""
    config = EvaluateConfig(patience=9, stop_on=on)
    return after(evaluations, config=config)


FALLING_LOSS = [(10.0, 5.0), (12.0, 4.0), (11.0, 3.0), (11.0, 2.0)]


def test_any_or_all_of_several_metrics_count_for_the_patience():
    assert after(FALLING_LOSS)["since"] == 2
    assert stalls(FALLING_LOSS, {"any": ["chrf", "loss"]})["since"] == 2
    assert stalls(FALLING_LOSS, {"all": ["chrf", "loss"]})["since"] == 0
    worse = [*FALLING_LOSS, (11.0, 2.5)]
    assert stalls(worse, {"any": ["chrf", "loss"]})["since"] == 3
    assert stalls(worse, {"all": ["chrf", "loss"]})["since"] == 1
    assert stalls(worse, {"any": ["loss"]})["since"] == 1
    assert stalls(worse, {"any": ["loss"]})["step"] == 2, "the best is still chosen by its own metric"


def test_a_metric_that_joins_on_resume_begins_with_what_it_is_now():
    one = EvaluateConfig(patience=9, stop_on={"all": ["chrf"]})
    both = EvaluateConfig(patience=9, stop_on={"all": ["chrf", "loss"]})
    state = TrainState()
    for step, (chrf, config) in enumerate([(10.0, one), (9.0, one), (8.0, both), (7.0, both)]):
        scores = {"valid": {"chrf": chrf, "loss": 3.0 + step}}
        state = with_best(replace(state, step=step), scores, config)
    assert {name: each["since"] for name, each in state.best["stop_on"].items()} == {"chrf": 3, "loss": 1}
    assert state.best["since"] == 1


def test_a_best_of_an_older_version_has_no_loss_and_is_beaten_by_its_value_alone():
    old = {"set": "valid", "metric": "chrf", "value": 30.0, "step": 1, "since": 1}
    scores = {"valid": {"chrf": 30.0, "loss": 1.0}}
    assert with_best(TrainState(step=2, best=old), scores, BY_CHRF).best == {**old, "since": 2}


def test_a_run_that_no_longer_stops_on_several_metrics_forgets_what_they_waited():
    both = EvaluateConfig(patience=9, stop_on={"all": ["chrf", "loss"]})
    state = with_best(TrainState(step=1), {"valid": {"chrf": 40.0, "loss": 2.0}}, both)
    state = with_best(replace(state, step=2), {"valid": {"chrf": 39.0, "loss": 2.5}}, both)
    assert state.best["stop_on"]["loss"]["since"] == 1
    state = with_best(
        replace(state, step=3), {"valid": {"chrf": 39.0, "loss": 2.5}}, EvaluateConfig(patience=9)
    )
    assert "stop_on" not in state.best
    assert state.best["since"] == 2


class Second(Twins):
    """A rank that is sent what the first one has found, though it has found something else itself."""

    def __init__(self, numbers):
        self.numbers = iter(numbers)

    def broadcast(self, tensors):
        for tensor in tensors:
            tensor.fill_(next(self.numbers))


def test_ranks_stop_early_together_by_what_the_first_one_found():
    config = EvaluateConfig(best=Best(metric="loss"), patience=2)
    rule = StopRule(Duration(100, "steps"), config.patience, RunClock(1))
    of_first, of_second = [3.0, 2.0, 2.5, 2.5], [3.0, 2.5, 2.0, 1.5]  # which would go on by its own
    second, first = Second(of_first), TrainState()
    other = first
    for step, (loss, own) in enumerate(zip(of_first, of_second, strict=True), start=1):
        assert not rule.reached(other)
        first = with_best(replace(first, step=step), {"valid": {"loss": loss}}, config)
        other = with_best(replace(other, step=step), {"valid": {"loss": own}}, config, ranks=second)
        assert other == first
    assert rule.reached(other)
