import dataclasses

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.data.demo_pairs import Listed
from tests.for_each import for_each
from trimtab.data.scan import (
    ADDRESSES,
    COPY,
    DIGITS,
    digest,
    loose,
    oddities,
    paired,
    scan_corpus,
    scan_lengths,
)


@for_each(
    ("source", "target", "odd"),
    [
        ("1,000.5 MB on 2001-03-31", "1.000,5 MB am 31.03.2001", 0),
        ("01 of 10", "1 von 10", 0),
        ("１２ hours", "12 Stunden", 0),
        ("3 files", "4 Dateien", DIGITS),
        ("see http://a.org", "siehe dort", ADDRESSES),
        ("5 at www.a.org", "6", DIGITS + ADDRESSES),
        ("This was not translated at all", "This was not translated at all", COPY),
        ("LibreOffice", "LibreOffice", 0),
    ],
)
def test_numbers_addresses_and_copies_are_compared(source, target, odd):
    assert oddities(source, target) == odd


def test_loose_text_is_without_case_punctuation_spaces_and_digits():
    assert loose("Save 12 Files…") == loose("save 34 files!")
    assert loose("Save it") != loose("Save them")
    assert loose("...") == "..."


@given(st.lists(st.tuples(st.text(), st.text()), max_size=8))
def test_a_scan_says_of_each_line_what_one_by_one_says(pairs):
    scan = scan_corpus(Listed(pairs), range(len(pairs)))
    assert len(scan) == len(pairs)
    for place, (source, target) in enumerate(pairs):
        lengths = [len(side) if side.strip() else 0 for side in (source, target)]
        assert [scan.source_length[place], scan.target_length[place]] == lengths
        assert (int(scan.source[place]), int(scan.target[place])) == (digest(source), digest(target))
        assert int(scan.loose_source[place]) == digest(loose(source))
        assert scan.odd[place] == oddities(source, target)


@given(st.lists(st.tuples(st.sampled_from("abc "), st.sampled_from("abc ")), max_size=8))
def test_an_exchanged_scan_is_that_of_the_exchanged_pairs_without_copies(pairs):
    scan = scan_corpus(Listed(pairs), range(len(pairs))).exchanged()
    lines = [line for line, (source, target) in enumerate(pairs) if source != target]
    again = scan_corpus(Listed([pair[::-1] for pair in pairs]), range(len(pairs)))
    assert scan.line.tolist() == lines
    for field in dataclasses.fields(scan):
        assert getattr(scan, field.name).tolist() == getattr(again, field.name)[lines].tolist(), field.name


def test_the_order_of_the_sides_counts_in_the_digest_of_a_pair():
    left, right = np.array([digest("a")], np.uint64), np.array([digest("b")], np.uint64)
    assert paired(left, right) != paired(right, left)
    many = np.array([digest(str(number)) for number in range(2000)], np.uint64)
    assert len(np.unique([paired(many, np.full_like(many, each)) for each in many[:100]])) == 200_000


def test_only_the_lines_that_are_asked_for_are_read():
    scan = scan_corpus(Listed([("a", "b"), ("cc", "d"), ("e", "fff")]), [1, 2])
    assert scan.line.tolist() == [1, 2]
    assert scan.target_length.tolist() == [1, 3]


@given(st.lists(st.tuples(st.text(), st.text()), max_size=8), st.data())
def test_lengths_alone_are_those_of_a_whole_scan(pairs, data):
    lines = data.draw(st.lists(st.integers(0, len(pairs) - 1))) if pairs else []
    whole, lengths = scan_corpus(Listed(pairs), lines), scan_lengths(Listed(pairs), lines)
    assert len(lengths) == len(lines)
    for field in ("line", "source_length", "target_length"):
        assert getattr(lengths, field).tolist() == getattr(whole, field).tolist()
