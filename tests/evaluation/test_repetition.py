import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.for_each import for_each
from trimtab.errors import InputError
from trimtab.evaluation.repetition import (
    FEWEST_LOOPS,
    MORE_THAN_REFERENCES,
    MOST_LOOPS,
    MOST_REPEATED,
    distinct_outputs,
    find_collapse,
    find_repetition,
    repeated_4grams,
)
from trimtab.run_findings.catalog import ALL


@for_each(
    ("translations", "expected"),
    [
        ([], 0.0),
        (["", "a b c"], 0.0),
        (["a b c d"], 0.0),
        (["a b c d", "a b c d"], 0.0),  # two lines alike are no repetition inside a line
        (["a a a a a"], 0.5),
        (["a b a b a b a b"], 1 - 2 / 5),
        (["a a a a a", "b c d e f g"], 1 - 4 / 5),
        (["  a\ta  a a a "], 0.5),
    ],
)
def test_repeated_4grams_are_counted_inside_each_line(translations, expected):
    assert repeated_4grams(translations) == pytest.approx(expected)


@given(st.lists(st.lists(st.sampled_from("abc"), max_size=30).map(" ".join), max_size=6))
def test_the_share_of_repeated_4grams_is_what_counting_one_by_one_gives(translations):
    total = repeated = 0
    for line in translations:
        seen = []
        words = line.split()
        for start in range(len(words) - 3):
            total += 1
            repeated += words[start : start + 4] in seen
            seen.append(words[start : start + 4])
    assert repeated_4grams(translations) == pytest.approx(repeated / total if total else 0.0)


@for_each(
    ("sources", "translations", "expected"),
    [
        (["a", "b", "c", "d"], ["x", "y", "x", "x"], 0.5),
        (["a", "a", "b"], ["x", "x", "y"], 1.0),
        (["a", "a"], ["x", "y"], 1.0),
        (["a", "b"], ["", ""], 0.5),
    ],
)
def test_distinct_outputs_are_counted_over_distinct_sources(sources, translations, expected):
    assert distinct_outputs(sources, translations) == expected


def test_unequal_and_empty_sets_are_refused():
    with pytest.raises(InputError, match="2 sources and 1 translations"):
        distinct_outputs(["a", "b"], ["x"])
    with pytest.raises(InputError, match="empty"):
        find_collapse([], [])


def probes(count: int) -> list[str]:
    return [f"source {number}" for number in range(count)]


def test_one_phrase_for_every_input_is_a_collapse_that_names_the_phrase_and_the_way_out():
    finding = find_collapse(probes(32), ["Das ist nicht der Fall."] * 30 + ["Ja.", "Nein."])
    assert finding is not None
    assert (finding.code, finding.name, finding.severity) == ("E901", "collapsed-outputs", "error")
    assert "32 different sentences have only 3 different translations" in finding.message
    assert "30 of them became 'Das ist nicht der Fall.'" in finding.message
    assert "learning rate" in finding.fix
    assert "warmup" in finding.fix


@for_each(("different", "collapsed"), [(1, True), (6, True), (7, False), (32, False)])
def test_the_bound_is_one_in_five(different, collapsed):
    translations = [f"translation {number % different}" for number in range(32)]
    assert (find_collapse(probes(32), translations) is not None) is collapsed


@pytest.mark.parametrize(("count", "collapsed"), [(1, False), (5, False), (6, True)])
def test_a_handful_of_sentences_proves_nothing(count, collapsed):
    assert (find_collapse(probes(count), ["same"] * count) is not None) is collapsed


def test_only_the_first_probes_count():
    assert find_collapse(probes(100), ["same"] * 32 + [str(number) for number in range(68)]) is not None


def test_silence_and_long_phrases_are_shown_short():
    silent, endless = find_collapse(probes(32), [""] * 32), find_collapse(probes(32), ["la " * 500] * 32)
    assert silent is not None
    assert endless is not None
    assert "an empty line" in silent.message
    assert len(endless.message) < 250
    assert "…" in endless.message


def lines(count, *, loops, length=12):
    """Different lines, some of which go round in a loop."""
    well = [" ".join(f"w{line}x{place}" for place in range(length)) for line in range(count)]
    return ["the same words again " * 6 if line < loops else well[line] for line in range(count)]


def test_translations_that_go_round_in_loops_are_found():
    found = find_repetition(lines(50, loops=10), lines(50, loops=0))
    assert (found.code, found.severity) == ("E903", "warning")
    assert "10 of 50 lines loop (bound 5), such as 'the same words again" in found.message
    assert "references: 0.0%; bound 5%" in found.message


def test_the_bound_that_is_told_is_the_one_that_was_passed():
    found = find_repetition(lines(50, loops=50), lines(50, loops=1))
    share = repeated_4grams(lines(50, loops=1))
    assert MORE_THAN_REFERENCES * share > MOST_REPEATED
    assert f"references: {share:.1%}; bound {MORE_THAN_REFERENCES * share:.0%}" in found.message


def test_the_page_names_every_bound():
    (page,) = (page for page in ALL if page.code == "E903")
    assert f"more than {MOST_REPEATED:.0%} of all 4-grams" in page.seen
    assert (MOST_LOOPS, FEWEST_LOOPS, MORE_THAN_REFERENCES) == (1 / 10, 3, 10)
    assert "one translation in ten, and at least three," in page.seen
    assert "ten times the share of the references" in page.seen


@pytest.mark.parametrize(
    ("loops", "of_references"),
    [
        (0, 0),
        (4, 0),  # a few lines only, however much of all 4-grams they are
        (10, 4),  # the references do so too
    ],
)
def test_a_loop_now_and_then_and_text_that_repeats_itself_are_not_found(loops, of_references):
    assert find_repetition(lines(50, loops=loops), lines(50, loops=of_references)) is None


def test_two_loops_among_a_few_lines_are_not_judged():
    assert find_repetition(lines(8, loops=2), lines(8, loops=0)) is None
    assert find_repetition(lines(8, loops=3), lines(8, loops=0)).code == "E903"
    assert find_repetition([], []) is None


def test_writing_without_spaces_is_not_judged():
    assert find_repetition(["\u304d\u304d\u304d\u304d" * 20] * 30, ["\u304d"] * 30) is None
