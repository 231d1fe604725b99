import math
from dataclasses import replace

from trimtab.config.run import Best, EvaluateConfig
from trimtab.training.validate import with_best
from trimtab.types import TrainState

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
