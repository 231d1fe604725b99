import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.report.folder_of_a_run import sentences_line, write_run
from trimtab.report.run_data import open_run
from trimtab.report.sentences import groups_of, sentences_of

POINTS = st.lists(st.tuples(st.integers(0, 30), st.floats(0, 100)), max_size=60)


def test_the_newest_evaluation_is_shown_by_length_with_its_worst_lines(tmp_path):
    found = sentences_of(open_run(write_run(tmp_path / "my")))
    assert (found.step, found.set, len(found.points)) == (300, "dev", 60)
    assert [(each.words, each.lines) for each in found.groups] == [
        ("1 to 4", 12), ("5 to 8", 12), ("9 to 12", 12), ("13 to 16", 12), ("17 to 20", 12),
    ]  # fmt: skip
    means = [each.mean for each in found.groups]
    assert means == sorted(means, reverse=True)
    assert (found.worst[0].line, found.worst[0].score) == (20, 30.0)
    assert found.maps[0].said == "alte looks at old (91%); end looks at end (80%)"


@given(POINTS)
def test_each_line_is_in_one_range_of_lengths(points):
    groups = groups_of([(float(words), score) for words, score in points])
    assert sum(each.lines for each in groups) == len(points)
    assert all(each.lines >= 5 for each in groups) or len(points) < 5
    ends = [each.words.split(" to ") for each in groups]
    assert [int(low) for low, *_ in ends] == sorted(int(low) for low, *_ in ends)


@pytest.mark.parametrize(
    "line",
    [
        {},
        {"words": "x", "scores": 7, "worst": [3], "best": {}, "attention": [None, {"source": ["a"]}]},
        {"words": [float("inf"), -3, True], "scores": ["nan", 1e9, None], "set": 3, "step": "now"},
        sentences_line(1) | {"attention": [{"source": ["a"], "target": ["b"], "percent": [[1, 2]]}]},
    ],
)
def test_nonsense_is_read_as_far_as_it_goes(tmp_path, line):
    found = sentences_of(open_run(write_run(tmp_path / "my", sentences=[line])))
    assert found.maps == []
    assert all(0 <= score <= 100 and words >= 0 for words, score in found.points)


def test_a_run_without_sentences_has_none(tmp_path):
    assert sentences_of(open_run(write_run(tmp_path / "my", sentences=[]))) is None
