from hypothesis import given
from hypothesis import strategies as st

from trimtab.data.formats.passage import BYTES_BEFORE, cut_at, cuts, tail

TEXTS = st.text(st.one_of(st.sampled_from("ab \n"), st.characters(codec="utf-8"))).map(str.encode)


@given(TEXTS, st.integers(4, 40))
def test_passages_join_to_the_document_and_none_is_too_long_or_breaks_a_character(data, most):
    parts = list(cuts(data, most=most))
    assert b"".join(data[start:stop] for start, stop in parts) == data
    assert all(stop - start <= most for start, stop in parts)
    assert all(data[start:stop].decode() or not data for start, stop in parts)


def test_a_cut_is_behind_a_newline_or_before_a_space_of_the_later_half():
    assert cut_at(b"one two three\nfo") == 14
    assert cut_at(b"one two\nthree fo") == 13
    assert cut_at(b"a long_word_tha\r") == 15
    assert cut_at(b"a long_word_that") == 16
    assert cut_at("ab€".encode()[:4]) == 2


def test_the_tail_is_of_whole_characters():
    assert tail(b"") == ""
    assert tail("€".encode() * 30) == "€" * (BYTES_BEFORE // 3)
