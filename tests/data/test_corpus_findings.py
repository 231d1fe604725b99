import random

import pytest

from tests.data.demo_pairs import demo_pairs, lost
from trimtab.config.corpora import TrainCorpus
from trimtab.data.corpus import open_corpora
from trimtab.data.corpus_findings import ListedPairs, corpus_findings, is_sentence


@pytest.fixture
def found(tmp_path):
    """What is found in a corpus of given pairs with a validation set."""

    def look(train, valid, **settings):
        for side, number in (("en", 0), ("de", 1)):
            (tmp_path / f"train.{side}").write_text("".join(pair[number] + "\n" for pair in train))
        config = TrainCorpus(source="train.en", target="train.de", **settings)
        corpora = open_corpora([config], root=tmp_path, cache=tmp_path / "cache")
        held = ListedPairs("dev", tuple(settings.get("tags", ())), *zip(*valid, strict=True))
        return list(corpus_findings(corpora, [held]))

    return look


TRAIN, VALID = demo_pairs(1500), demo_pairs(100, "valid")


def test_nothing_is_said_of_good_text(found):
    assert found(TRAIN, VALID) == []
    assert found(TRAIN, VALID, tags=["<2de>"], both_directions=True, reverse_tags=["<2en>"]) == []


def test_a_lost_line_is_told_with_its_place(found):
    (finding,) = found(lost(TRAIN, 500), VALID)
    assert (finding.code, finding.severity) == ("D206", "warning")
    assert abs(int(finding.where.rsplit(":", 1)[1]) - 501) < 24
    assert "1 line of the target" in finding.message


def test_lines_with_a_nul_are_told_with_their_places(found):
    odd = [
        (f"{each}\0", other) if number in (3, 7) else (each, other)
        for number, (each, other) in enumerate(TRAIN)
    ]
    (finding,) = found(odd, VALID)
    assert (finding.code, finding.severity) == ("D210", "warning")
    assert "2 of 1,500 lines" in finding.message
    assert "(4, 8)" in finding.message
    assert finding.where.endswith("train.en:4")
    (finding,) = found([(TRAIN[0][0], f"a\0{TRAIN[0][1]}"), *TRAIN[1:]], VALID)
    assert "1 of 1,500 lines looked at has a NUL in it (1)" in finding.message


@pytest.mark.quick("/")
@pytest.mark.parametrize("sign", ["/", "\\"])
def test_lines_out_of_all_proportion_are_told_with_their_places(found, sign):
    train = list(TRAIN)
    train[700] = (sign * 1_000_000, train[700][1])
    train[900] = (train[900][0], sign * 300_000)
    (finding,) = found(train, VALID)
    assert (finding.code, finding.severity) == ("D207", "warning")
    assert "2 lines of more than 262,144 bytes (701, 901); line 701 has 1,000,000" in finding.message
    assert finding.where.endswith("train.en:701")


def test_a_long_line_that_may_be_text_is_none_of_them(found):
    train = list(TRAIN)
    train[700] = ("x" * 262_144, train[700][1])
    assert found(train, VALID) == []


def test_exchanged_sides_are_told(found):
    (finding,) = found(TRAIN, [pair[::-1] for pair in VALID])
    assert finding.code == "D206"
    assert finding.message.startswith("dev: source and target seem to be exchanged")


def test_validation_lines_in_training_are_told_from_a_tenth_on(found):
    (finding,) = found(TRAIN, [*VALID[:80], *TRAIN[:20]])
    assert (finding.code, finding.severity) == ("D205", "warning")
    assert "at least 20 of 100 pairs" in finding.message
    assert "line 81 as line 1" in finding.message
    assert found(TRAIN, [*VALID[:95], *TRAIN[:5]]) == []


def test_validation_lines_that_are_trained_on_in_reverse_alone_are_told(found):
    train = [*TRAIN[:1000], *(pair[::-1] for pair in VALID[:20])]
    (finding,) = found(train, VALID, tags=["<2de>"], both_directions=True, reverse_tags=["<2en>"])
    assert finding.code == "D205"
    assert "at least 20 of 100 pairs of the set dev are also in the corpus train reversed" in finding.message
    assert "line 1 as line 1001" in finding.message
    assert found(train, VALID, tags=["<2de>"]) == []


def test_validation_lines_in_a_corpus_that_is_read_both_ways_are_told_once(found):
    (finding,) = found(
        TRAIN, [*VALID[:80], *TRAIN[:20]], tags=["<2de>"], both_directions=True, reverse_tags=["<2en>"]
    )
    assert "are also in the corpus train" in finding.message


BLANKS = {
    "every third source": (0, 1 / 3, None),
    "every second source": (0, 1 / 2, None),
    "every third target": (1, 1 / 3, None),
    "every second target": (1, 1 / 2, None),
    "a third of the sources": (0, 1 / 3, 1),
    "half of the targets": (1, 1 / 2, 2),
    "every second line": (None, 1 / 2, None),
}


def blanked(pairs, name, text=""):
    """Pairs of which a share has a blank side (both of them for None), at random with a seed."""
    side, share, seed = BLANKS[name]
    draw = random.Random(seed)
    gone = [
        number % round(1 / share) == 0 if seed is None else draw.random() < share
        for number in range(len(pairs))
    ]
    return [
        tuple(text if out and side in (place, None) else each for place, each in enumerate(pair))
        for pair, out in zip(pairs, gone, strict=True)
    ]


@pytest.mark.quick(
    "every third source-", "every third target-", "a third of the sources-  ", "every second line-  "
)
@pytest.mark.parametrize("text", ["", "  "])
@pytest.mark.parametrize("name", BLANKS)
def test_pairs_with_a_blank_side_are_no_drift(found, name, text):
    assert found(blanked(demo_pairs(2000), name, text), VALID) == []


@pytest.mark.quick("every third target", "a third of the sources", "every second line")
@pytest.mark.parametrize("name", BLANKS)
def test_a_drift_is_told_with_blank_lines_among_it(found, name):
    (finding,) = found(lost(blanked(demo_pairs(2000), name), 800), VALID)
    assert finding.code == "D206"
    assert abs(int(finding.where.rsplit(":", 1)[1]) - 801) < 24


def test_targets_that_are_their_sources_are_told_and_names_and_numbers_are_not(found):
    """Of two files, so that only their lines show it."""
    copied = [(source, source) for source, _ in TRAIN]
    assert "D211" in [finding.code for finding in found(copied, VALID)]
    third = [
        (source, source) if number % 3 == 0 else (source, target)
        for number, (source, target) in enumerate(TRAIN)
    ]
    (finding,) = [each for each in found(third, VALID) if each.code == "D211"]
    assert "sentences (bound 5%)" in finding.message
    short = [(source, target) if is_sentence(source) else (source, source) for source, target in TRAIN]
    few = [(f"NAME {number}",) * 2 if number % 3 == 0 else pair for number, pair in enumerate(short)]
    assert 0.3 < sum(source == target for source, target in few) / len(few) < 0.5
    assert "D211" not in [finding.code for finding in found(few, VALID)]
    alone = [(source, source) for source, _ in TRAIN]
    codes = [finding.code for finding in found(alone, VALID, tags=["<2de>"])]
    assert codes.count("D211") == 1
