import pytest

from trimtab.data.alignment import Alignment, OddLine
from trimtab.data.checks import CorpusChecks, DataChecks
from trimtab.data.checks_report import drift_in_words, render_checks
from trimtab.data.drift import Drift
from trimtab.data.repeats import Group, Repeats, Shared
from trimtab.data.swapped import Swapped

REPEATS = Repeats(
    lines=100, source=3, target=2, pair=1, loose_pair=4, groups=(Group(5, (1, 2, 3)), Group(2, (7, 9)))
)


def test_the_report_names_lines_worst_first():
    alignment = Alignment(
        lines=100,
        correlation=0.5,
        drift=Drift("shifted", 40, 100, -1, 0.01),
        where="train.en:41",
        num_odd={"other numbers": 2, "other addresses": 0},
        worst=(
            OddLine(3, "train.en:3", ("other numbers",)),
            OddLine(8, "train.en:8", ("9 and 90 characters",)),
        ),
    )
    shared = Shared("dev", "train", 10, source=4, pair=2, loose_source=5, loose_pair=3, places=((1, 17),))
    report = DataChecks((CorpusChecks("train", alignment, REPEATS),), (shared,), (Swapped("dev", "train"),))
    assert (
        render_checks(report)
        == """\
train: checks
  alignment: 100 pairs; lengths correlate by 0.50; odd: other numbers 2
  train.en:41: the sides are shifted in 60 pairs from pair 41 on: 1 line of the target seem to be lost before
    train.en:3: other numbers
    train.en:8: 9 and 90 characters
  repeated: 3 sources, 2 targets, 1 pairs; 4 pairs without case, digits and punctuation
    5 times the same pair: lines 1, 2, 3 ...
    2 times the same pair: lines 7, 9

dev: source and target are exchanged, compared with train

validation lines that are in the training data
  dev in train: 4 sources (40.00%), 2 pairs (20.00%); without case, digits and punctuation 5 and 3
    line 1 is line 17"""
    )


def test_nothing_in_common_is_not_mentioned():
    shared = Shared("dev", "train", 10, source=0, pair=0, loose_source=0, loose_pair=0, places=())
    text = render_checks(DataChecks((CorpusChecks("train", None, REPEATS),), (shared,), ()))
    assert "alignment" not in text
    assert "dev" not in text


@pytest.mark.parametrize(
    ("kind", "offset", "said"),
    [
        ("shifted", 2, "2 lines of the source"),
        ("shifted", -1, "1 line of the target"),
        ("unrelated", 0, "nothing to do"),
    ],
)
def test_a_drift_is_told_in_words(kind, offset, said):
    assert said in drift_in_words(Drift(kind, 0, 10, offset, 0.0))
