import random

import pytest
from sacrebleu.metrics.bleu import BLEU as SacreBleu
from sacrebleu.metrics.chrf import CHRF as SacreChrf
from sacrebleu.significance import PairedTest as SacrePairedTest

from tests.small_run import small_pairs
from trimtab.errors import InputError
from trimtab.evaluation.significance import PairedTest, interval, paired_tests
from trimtab.metrics.bleu import BLEU
from trimtab.metrics.chrf import CHRF
from trimtab.metrics.comet import COMET
from trimtab.metrics.metric import MetricSettings
from trimtab.metrics.ter import TER

REFERENCES = [pair[1] for pair in small_pairs(60, seed=3)]
FEW = (50, 200)


def damaged(share, *, seed):
    draw = random.Random(seed)
    return [
        " ".join("falsch" if draw.random() < share else word for word in line.split()) for line in REFERENCES
    ]


GOOD, FAIR, POOR = damaged(0.1, seed=1), damaged(0.12, seed=2), damaged(0.5, seed=3)


def beside(systems, baseline, *, metrics=(BLEU, CHRF)):
    return paired_tests(
        systems,
        baseline=baseline,
        references=REFERENCES,
        metrics=metrics,
        settings=MetricSettings(),
        samples=FEW,
    )


def test_the_numbers_are_those_of_sacrebleu():
    found = beside({"good": GOOD, "fair": FAIR}, POOR)
    named = [("poor", POOR), ("good", GOOD), ("fair", FAIR)]
    for kind, count in zip(("bs", "ar"), FEW, strict=True):
        made = {"bleu": SacreBleu(), "chrf": SacreChrf()}
        signatures, scores = SacrePairedTest(named, made, [REFERENCES], test_type=kind, n_samples=count)()
        for place, metric in enumerate(("BLEU", "chrF2")):
            for number, system in enumerate(("good", "fair"), 1):
                own, expected = found[system][place], scores[metric][number]
                p_value = own.bootstrap_p if kind == "bs" else own.randomization_p
                assert (own.value, p_value) == (expected.score, expected.p_value)
                assert own.baseline == scores[metric][0].score
                if kind == "bs":
                    assert (own.margin, own.baseline_margin) == (expected.ci, scores[metric][0].ci)
                    assert own.bootstrap_signature == signatures[metric].format()


def test_a_clear_difference_is_significant_in_both_directions_and_a_small_one_is_not():
    found = beside({"good": GOOD, "fair": FAIR}, POOR)
    assert [test.conclusion for test in found["good"]] == ["better", "better"]
    (lost, _) = beside({"poor": POOR}, GOOD)["poor"]
    assert lost.conclusion == "worse"
    assert "poor is worse than good by" in lost.sentence("poor", "good")
    (close, _) = beside({"fair": FAIR}, GOOD)["fair"]
    assert close.conclusion == "undecided"
    assert "nor that both are equally good" in close.sentence("fair", "good")
    assert "only 60 lines" in close.sentence("fair", "good")


def test_fewer_edits_are_better():
    (test,) = beside({"good": GOOD}, POOR, metrics=[TER])["good"]
    assert test.difference < 0
    assert test.conclusion == "better"


def test_identical_translations_are_no_significant_difference():
    # sacreBLEU alone gives them the smallest p-value that there is.
    for test in beside({"copy": list(GOOD)}, GOOD)["copy"]:
        assert (test.bootstrap_p, test.randomization_p, test.conclusion) == (1.0, 1.0, "identical")
        assert "give the same translations" in test.sentence("copy", "good")


def test_tests_that_disagree_decide_nothing():
    test = PairedTest(
        metric="bleu",
        label="BLEU",
        value=31.0,
        baseline=30.0,
        margin=1.0,
        baseline_margin=1.0,
        bootstrap_p=0.0004,
        randomization_p=0.06,
        lines=500,
        bootstrap_signature="",
        randomization_signature="",
    )
    assert test.conclusion == "undecided"
    assert test.sentence("a", "b") == (
        "BLEU: a is 1.00 higher than b (31.0 against 30.0), and the tests disagree (bootstrap p < 0.001, "
        "randomization p = 0.060): these lines do not show which is better, nor that both are equally good."
    )
    assert test.to_dict()["conclusion"] == "undecided"


def test_there_is_no_test_of_comet():
    with pytest.raises(InputError, match="COMET: there is no paired test"):
        beside({"good": GOOD}, POOR, metrics=[COMET])


def test_an_interval_is_shown_beside_its_value():
    assert interval(31.44, 0.93, digits=1) == "31.4 ± 0.9"
    assert interval(31.44, None, digits=1) == "31.4"
