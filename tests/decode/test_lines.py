import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.decode.copying import CopyingModel, copying
from tests.decode.hostile import hostile_lines
from trimtab.decode.candidate import NOTHING
from trimtab.decode.lines import n_best_lines, translate_lines
from trimtab.decode.reading import read_lines
from trimtab.decode.sampling import Sampling
from trimtab.decode.search import Search
from trimtab.decode.setup import TranslationCounts
from trimtab.errors import InputError

BREAKS = "\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"


def expected_copy(line: str) -> str:
    """What a copy of a line that is not too long must look like."""
    return "".join(" " if character in BREAKS else character for character in line) if line.strip() else ""


def without_spaces(text: str) -> str:
    return re.sub(r"\s+", "", text)


@pytest.mark.quick("1")
@pytest.mark.parametrize("beam", [1, 2])
def test_a_thousand_hostile_lines_give_a_thousand_lines_in_order(beam):
    lines = hostile_lines(1000)
    assert len(lines) == 1000
    assert max(map(len, lines)) >= 19_990
    counts = TranslationCounts()
    found = list(translate_lines(lines, copying(beam=beam), counts=counts, block_lines=300))
    assert len(found) == 1000
    for line, copy in zip(lines, found, strict=True):
        assert len(copy.splitlines()) <= 1
        if len(line) < 64:
            assert copy == expected_copy(line)
        else:
            assert without_spaces(copy) == without_spaces(line)
    assert counts.lines == 1000
    assert counts.empty_lines == sum(not line.strip() for line in lines)
    assert counts.cut_lines == sum(len(line) >= 64 and bool(line.strip()) for line in lines)
    assert counts.at_limit == sum(len(line) == 63 and bool(line.strip()) for line in lines)


@pytest.mark.slow
@given(
    lines=st.lists(st.text(max_size=40), max_size=12), block_lines=st.integers(1, 5), beam=st.integers(1, 3)
)
def test_whatever_the_text_there_is_one_copy_for_each_line(lines, block_lines, beam):
    found = list(translate_lines(lines, copying(beam=beam, batch_tokens=200), block_lines=block_lines))
    assert found == [expected_copy(line) for line in lines]


def test_half_characters_from_broken_strings_become_replacement_characters():
    assert list(translate_lines(["a\ud800b"], copying())) == ["a\ufffdb"]


@pytest.mark.slow
def test_a_hundred_thousand_lines_are_read_one_block_ahead():
    num_read = 0

    def lines():
        nonlocal num_read
        for number in range(100_000):
            num_read += 1
            yield str(number) if number % 4 == 0 else ""

    num_given = 0
    for number, copy in enumerate(translate_lines(lines(), copying(vocabulary=20), block_lines=4096)):
        assert copy == (str(number) if number % 4 == 0 else "")
        num_given += 1
        assert num_read - num_given <= 4096
    assert num_given == 100_000


def test_lines_are_not_read_before_somebody_asks():
    def lines():
        raise AssertionError("read too early")
        yield ""

    translate_lines(lines(), copying())


def test_very_long_lines_close_a_block_early():
    num_read = 0

    def lines():
        nonlocal num_read
        for _ in range(20):
            num_read += 1
            yield " " * 1_000_000

    found = translate_lines(lines(), copying())
    assert next(found) == ""
    assert num_read == 4
    assert list(found) == [""] * 19


def test_what_came_before_a_wrong_byte_is_given_out_before_the_error():
    binary = io.BytesIO(b"one\ntwo\nthree\nf\xff\nfive\n")
    found = translate_lines(read_lines(binary), copying(), block_lines=2)
    assert [next(found), next(found), next(found)] == ["one", "two", "three"]
    with pytest.raises(InputError, match="line 4 is not UTF-8"):
        next(found)


def test_an_error_in_the_first_line_gives_nothing_but_the_error():
    found = translate_lines(read_lines(io.BytesIO(b"\xff\n")), copying())
    with pytest.raises(InputError):
        next(found)


def test_lines_of_one_block_are_translated_sorted_by_length_in_full_batches():
    setup = copying(batch_tokens=120)
    lines = ["a" * length for length in (1, 30, 2, 29, 1, 28, 2)]
    assert list(translate_lines(lines, setup)) == lines
    assert isinstance(setup.model, CopyingModel)
    assert [(rows, longest) for rows, _, longest in setup.model.batches] == [(3, 31), (4, 3)]


def test_normalisation_comes_before_everything_else():
    setup = copying()
    object.__setattr__(setup, "normalise", lambda line: line.replace("#", " ").upper())
    assert list(translate_lines(["a#b", "###"], setup)) == ["A B", ""]


def test_prefixes_go_with_their_lines_across_blocks():
    lines = ["ab", "", "cd", "ef", "gh"]
    setup = copying()
    setup.tokenizer.encode(["abcdefgh"])
    found = translate_lines(lines, setup, prefixes=["xy", "zz", None, [4], ""], block_lines=2)
    # The model writes what it expects at each place, whatever stands before.
    assert list(found) == ["xy", "", "cd", "af", "gh"]
    assert list(translate_lines(lines, setup, prefixes="q", block_lines=2)) == ["qb", "", "qd", "qf", "qh"]


@pytest.mark.parametrize(
    ("count", "got"), [(2, "no prefix for line 3"), (4, "more prefixes than the 3 lines")]
)
def test_as_many_prefixes_as_lines(count, got):
    found = translate_lines(["a", "b", "c"], copying(), prefixes=["x"] * count, block_lines=2)
    with pytest.raises(InputError, match="prefixes: not as many as lines") as caught:
        list(found)
    assert caught.value.problems[0].got == got


def test_lists_of_candidates_hold_the_translation_first():
    lines = ["ab", " ", "c" * 100]
    lists = list(n_best_lines(lines, copying(beam=3, max_tokens=64), n=2))
    assert [few[0].text for few in lists] == ["ab", "", "c" * 100]
    assert [len(few) for few in lists] == [2, 1, 2]
    assert lists[1] == [NOTHING]
    assert lists[2][0].num_tokens == 100 + 3  # an end symbol for each of its pieces
    assert all(few[0].score >= few[-1].score for few in lists)


def test_samples_do_not_depend_on_blocks_and_batches():
    lines = [f"line {number}" for number in range(30)] + ["long " * 40]

    def samples(lines, *, batch_tokens, block_lines, **options):
        setup = copying(vocabulary=40, batch_tokens=batch_tokens)
        setup.tokenizer.encode(["line 0123456789 long"])
        search = Search(sampling=Sampling(temperature=8.0, **options))
        object.__setattr__(setup, "search", search)
        return [
            [each.text for each in few] for few in n_best_lines(lines, setup, n=3, block_lines=block_lines)
        ]

    first = samples(lines, batch_tokens=16384, block_lines=100)
    assert samples(lines, batch_tokens=50, block_lines=7) == first
    assert samples(lines, batch_tokens=16384, block_lines=100, seed=2) != first
    assert samples(["gone", *lines[1:5]], batch_tokens=900, block_lines=2)[1:] == first[1:5]
    assert len({tuple(few) for few in first}) == len(lines)
    assert len(set(first[-1])) == 3
