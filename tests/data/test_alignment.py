import pytest

from tests.data.demo_pairs import Listed, demo_pairs, lost
from trimtab.data.alignment import BLOCK_LINES, QuickLook, look_at_alignment, look_at_lengths, quick_lines
from trimtab.data.scan import scan_corpus, scan_lengths


def look(pairs, lines=None, **named):
    corpus = Listed(pairs)
    scan = scan_corpus(corpus, lines if lines is not None else range(len(pairs)))
    return look_at_alignment(corpus, scan, place=lambda line: f"train.en:{line + 1}", **named)


def test_good_text_has_no_drift_and_few_odd_lines():
    found = look(demo_pairs(2000))
    assert found.drift is None
    assert found.where == ""
    assert found.correlation > 0.85
    assert found.num_odd["other length"] < 40


def test_the_first_line_of_a_drift_is_named_with_its_file():
    found = look(lost(demo_pairs(2000), 700))
    name, line = found.where.split(":")
    assert name == "train.en"
    assert abs(int(line) - 701) <= 24


@pytest.mark.parametrize("side", [0, 1])
def test_pairs_with_a_blank_side_change_nothing_of_how_lengths_go_together(side):
    pairs = [list(pair) for pair in demo_pairs(2000)]
    for pair in pairs[::3]:
        pair[side] = " "
    found = look(pairs)
    assert found.drift is None
    assert found.correlation > 0.85
    assert found.num_odd["other length"] >= 600, "they are odd lines anyway"


def test_the_worst_lines_come_first_and_no_more_than_asked_for():
    pairs = list(demo_pairs(500))
    pairs[40] = (
        "A sentence with 5 numbers at http://a.org and a good length",
        "Ein Satz mit 6 Zahlen und guter Länge, ja",
    )
    pairs[90] = ("A sentence of one length, and one that was not forgotten here", "Satz 7")
    pairs[95] = ("This sentence was not translated.", "This sentence was not translated.")
    found = look(pairs, most=2)
    assert len(found.worst) == 2
    every = {each.line: each.reasons for each in look(pairs, most=500).worst}
    assert every[41] == ("other numbers", "other addresses")
    assert list(every).index(91) < list(every).index(41) < list(every).index(96)
    assert found.worst[0].where == "train.en:91"
    assert found.worst[0].reasons[0] == "61 and 6 characters"
    assert found.num_odd["target is the source"] == 1


def test_a_quick_look_takes_blocks_of_lines_from_everywhere():
    assert quick_lines(300, most=1000) == list(range(300))
    lines = quick_lines(100_000, most=2000)
    assert len(lines) == 2000
    assert lines[0] == 0
    assert lines[-1] == 99_999
    assert lines[:BLOCK_LINES] == list(range(BLOCK_LINES))


def test_a_quick_look_finds_a_drift_in_the_block_where_it_is_seen():
    pairs = lost(demo_pairs(6000), 2600)
    found = look(pairs, quick_lines(len(pairs), most=2000))
    assert found.drift.kind == "shifted"
    assert 2600 <= found.drift.first <= 2600 + len(pairs) / 4


@pytest.mark.quick("2000-None", "2000-5900", "10000-5900")
@pytest.mark.parametrize("drift_from", [None, 0, 400, 2600, 5900])
@pytest.mark.parametrize("most", [2000, 10_000])
def test_lengths_alone_say_of_drift_what_a_whole_scan_says(drift_from, most):
    pairs = demo_pairs(6000) if drift_from is None else lost(demo_pairs(6000), drift_from)
    lines = quick_lines(len(pairs), most=most)
    whole = look(pairs, lines)
    quick = look_at_lengths(scan_lengths(Listed(pairs), lines), place=lambda line: f"train.en:{line + 1}")
    assert quick == QuickLook(whole.lines, whole.drift, whole.where)
    assert (quick.drift is not None) == (drift_from is not None)
