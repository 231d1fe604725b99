import json
import math
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tests.for_each import for_each
from trimtab.averaging.report import AverageReport, Comparison, Tried, gain_in_words, number

NUMBERS = st.floats(0, 100) | st.none() | st.just(math.nan)


def comparison(scores, *, lower=False, metric="chrf"):
    return Comparison(
        metric=metric, set="dev", how="24 lines, beam 1", signature="v", lower_is_better=lower, scores=scores
    )


@given(st.dictionaries(st.sampled_from(["a", "b", "c"]), NUMBERS), NUMBERS, st.booleans())
def test_the_gain_is_over_the_best_single_one_that_has_a_number(singles, average, lower):
    compared = comparison({**singles, "average": average}, lower=lower)
    known = [score for score in singles.values() if score is not None and math.isfinite(score)]
    if not known or average is None or math.isnan(average):
        assert compared.gain is None
        assert gain_in_words(compared) == "nothing to compare: a score is missing"
        return
    best = min(known) if lower else max(known)
    assert singles[compared.best_single] == best
    assert compared.gain == (best - average if lower else average - best)
    assert ("no gain" in gain_in_words(compared)) == (compared.gain <= 0)


def test_a_loss_is_told_once_and_another_measure_beside_it():
    losses = {"dev": {"run@1": 2.0, "run@2": None, "average": 1.75}}
    by_loss = comparison(losses["dev"], lower=True, metric="loss")
    told = AverageReport(Path("mean"), ("run@1", "run@2"), losses, comparison=by_loss).render()
    assert told.splitlines() == [
        "mean: the mean of 2 checkpoints",
        "loss on dev:",
        "  run@1    2.0000",
        "  run@2    no pair fits",
        "  average  1.7500",
        "  +0.2500 nats against the best of them",
    ]
    scores = comparison({"run@1": 40.0, "run@2": 41.0, "average": 40.5})
    told = AverageReport(Path("mean"), ("run@1", "run@2"), losses, comparison=scores).render()
    assert told.endswith(
        "chrf on dev (24 lines, beam 1):\n  run@1    40.00\n  run@2    41.00\n  average  40.50\n"
        "  no gain: -0.50 against the best single one, run@2"
    )


def test_of_a_language_model_perplexity_and_bits_stand_beside_each_loss():
    losses = {"dev": {"run@1": 2.0, "run@2": 1.8, "average": 1.75}}
    follows = {
        label: {"perplexity": math.exp(loss), "byte_perplexity": math.exp(loss / 4), "bits_per_byte": loss}
        for label, loss in losses["dev"].items()
    }
    by_loss = comparison(losses["dev"], lower=True, metric="loss")
    report = AverageReport(
        Path("mean"), ("run@1", "run@2"), losses, comparison=by_loss, perplexities={"dev": follows}
    )
    assert report.render().splitlines()[1:] == [
        "loss on dev:",
        "  run@1    2.0000  perplexity 7.39, 2.0000 bits per byte",
        "  run@2    1.8000  perplexity 6.05, 1.8000 bits per byte",
        "  average  1.7500  perplexity 5.75, 1.7500 bits per byte",
        "  +0.0500 nats against the best of them: perplexity -0.30, -0.0500 bits per byte",
    ]
    assert report.to_dict()["perplexities"]["dev"]["average"]["bits_per_byte"] == 1.75
    bits = comparison({"run@1": 2.0, "average": 1.999}, lower=True, metric="bits_per_byte")
    assert gain_in_words(bits) == "+0.0010 against the best single one, run@1"


def test_a_soup_says_what_was_tried_and_plain_data_holds_no_nan():
    tried = (
        Tried(label="a@1", score=3.0, with_it=3.0, taken=True),
        Tried(label="b@1", score=math.nan, with_it=None, taken=False),
    )
    report = AverageReport(
        Path("s"), ("a@1",), {}, kind="greedy soup", tried=tried, unread="gone", notes=("n",)
    )
    assert report.render().splitlines() == [
        "s: a greedy soup of 1 of 2 checkpoints",
        "  in   a@1: alone 3.00, the soup with it 3.00",
        "  out  b@1: alone nan",
        "note: n",
        "not scored: gone",
    ]
    tree = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert tree["tried"][1] == {"label": "b@1", "score": None, "with_it": None, "taken": False}
    compared = AverageReport(Path("s"), ("a@1",), {}, comparison=comparison({"a@1": 1.0, "average": 2.0}))
    assert compared.to_dict()["comparison"]["gain"] == 1.0


@for_each(("score", "text"), [(None, "none"), (math.inf, "inf"), (1.005, "1.00"), (40.0, "40.00")])
def test_scores_are_short(score, text):
    assert number(score) == text


def test_a_moving_average_is_named_so():
    told = AverageReport(Path("m"), ("run@9:ema",), {}, kind="moving average").render()
    assert told == "m: the moving average of the weights, run@9:ema"
