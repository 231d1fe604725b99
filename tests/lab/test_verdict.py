import pytest

from tests.lab.laboratory import written
from trimtab.lab.verdict import compare, noise, verdict_of

SAME = (50.0, 51.0, 49.5, 50.2, 50.8)
BETTER = (52.1, 52.9, 51.6, 52.4, 52.7)
WORSE = (48.0, 49.2, 47.4, 48.1, 48.9)
NEAR = (50.1, 50.9, 49.6, 50.2, 50.7)
SPREAD = (50.0, 55.0, 45.0, 52.0, 49.0)


def verdict(tmp_path, scores, expect, *, p=None, seeds=5):
    experiment = written(tmp_path, expect=expect).experiment
    arms = {
        name: dict(enumerate(values[:seeds], 1)) for name, values in {"plain": SAME, "other": scores}.items()
    }
    comparisons = compare(experiment, arms)
    return verdict_of(experiment, comparisons, [each.result.p if p is None else p for each in comparisons])


@pytest.mark.parametrize(
    ("expect", "scores", "expected"),
    [
        ("better", BETTER, "confirmed"),
        ("better", WORSE, "refuted"),
        ("worse", WORSE, "confirmed"),
        ("worse", BETTER, "refuted"),
        ("better", NEAR, "no effect at this scale"),
        ("worse", NEAR, "no effect at this scale"),
        ("same", NEAR, "confirmed"),
        ("same", BETTER, "refuted"),
        ("same", WORSE, "refuted"),
        ("better", SPREAD, "undecided at this scale"),
        ("same", SPREAD, "undecided at this scale"),
    ],
)
def test_the_verdict_follows_from_interval_margin_and_prediction(tmp_path, expect, scores, expected):
    assert verdict(tmp_path, scores, expect) == expected


def test_what_the_correction_for_the_table_takes_away_is_undecided(tmp_path):
    assert verdict(tmp_path, BETTER, "better", p=0.2) == "undecided at this scale"
    assert verdict(tmp_path, NEAR, "better", p=1.0) == "no effect at this scale"


def test_an_experiment_that_lacks_seeds_is_unfinished(tmp_path):
    assert verdict(tmp_path, BETTER, "better", seeds=4) == "unfinished"
    assert verdict(tmp_path, BETTER, "better", seeds=1) == "unfinished"


def test_less_is_better_where_the_metric_says_so(tmp_path):
    text = (tmp_path / "x").name  # the folder's own text, with a loss in place of chrF
    assert text == "x"
    from tests.lab.laboratory import TEXT

    experiment = written(
        tmp_path, text=TEXT.replace("metric: chrf", "metric: loss"), expect="better"
    ).experiment
    (found,) = compare(experiment, {"plain": {1: 2.0, 2: 2.1}, "other": {1: 1.5, 2: 1.5}})
    assert found.differences == (0.5, pytest.approx(0.6))


def test_predictions_that_come_out_differently_are_mixed(tmp_path):
    from tests.lab.laboratory import TEXT

    text = (
        TEXT.replace("measure:", "  third: {}\nmeasure:")
        + "  - {arm: third, than: plain, expect: better, margin: 0.5}\n"
    )
    experiment = written(tmp_path, text=text, expect="better").experiment
    arms = {"plain": SAME, "other": BETTER, "third": WORSE}
    comparisons = compare(experiment, {name: dict(enumerate(each, 1)) for name, each in arms.items()})
    assert verdict_of(experiment, comparisons, [each.result.p for each in comparisons]) == "mixed"


def test_the_noise_is_that_of_the_reference_and_the_same_with_other_weights(tmp_path):
    experiment = written(tmp_path, expect="better").experiment
    again = dict(enumerate(NEAR, 1))
    found = noise(experiment, {"plain": dict(enumerate(SAME, 1)), "reference, other weights": again})
    assert found.deviation == pytest.approx(0.1, abs=0.02)
    assert noise(experiment, {"plain": again}) is None
