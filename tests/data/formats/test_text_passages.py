import gzip
import lzma

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.data.formats import text_passages
from trimtab.data.formats.text_passages import TextDocuments, holds_jsonl, open_text_passages
from trimtab.errors import InputError

LINES = st.lists(
    st.one_of(
        st.just(""), st.sampled_from([" ", "\t ", "a", "b c", "€" * 20]), st.text("xyz €", max_size=40)
    ),
    max_size=20,
)


def documents_of(lines):
    """Blocks of lines between blank ones, the plain way."""
    found, block = [], []
    for line in [*lines, ""]:
        if line.strip(" \t"):
            block.append(line)
        elif block:
            found.append("\n".join(block))
            block = []
    return found


def whole(passages):
    """The documents, put together again."""
    texts, found = [], []
    for number in range(len(passages)):
        passage = passages.passage(number)
        assert passage.before == "".join(texts)[-len(passage.before) :] if texts else not passage.before
        texts.append(passage.text)
        if passage.ends:
            found.append("".join(texts))
            texts = []
    assert not texts
    return found


@settings(deadline=None)
@given(
    lines=LINES, most=st.sampled_from([4, 16, 1000]), ends=st.sampled_from(["\n", "\r\n"]), last=st.booleans()
)
def test_documents_are_the_blocks_between_blank_lines(lines, most, ends, last, tmp_path_factory):
    folder = tmp_path_factory.mktemp("text")
    (folder / "a.txt").write_bytes((ends.join(lines) + ends * last).encode())
    passages = open_text_passages(folder / "a.txt", most=most, cache=folder / "cache")
    assert whole(passages) == documents_of(lines)
    assert passages.num_documents == len(documents_of(lines))
    assert all(passages.num_bytes(number) <= most for number in range(len(passages)))
    assert passages.longer_than(3).tolist() == [n for n in range(len(passages)) if passages.num_bytes(n) > 3]


@pytest.mark.parametrize(("suffix", "packed"), [(".gz", gzip.compress), (".xz", lzma.compress)])
def test_packed_files_hold_the_same_and_are_indexed_once(tmp_path, monkeypatch, suffix, packed):
    text = b"one\ntwo\n\n\nthree\n"
    (tmp_path / "a.txt").write_bytes(text)
    (tmp_path / f"a.txt{suffix}").write_bytes(packed(text))
    plain = open_text_passages(tmp_path / "a.txt", most=100, cache=tmp_path)
    other = open_text_passages(tmp_path / f"a.txt{suffix}", most=100, cache=tmp_path)
    assert whole(other) == whole(plain) == ["one\ntwo", "three"]
    assert other.fingerprint == plain.fingerprint
    monkeypatch.setattr(TextDocuments, "cut", lambda self, most: pytest.fail("cut again"))
    again = open_text_passages(tmp_path / f"a.txt{suffix}", most=100, cache=tmp_path)
    assert np.array_equal(again.places, other.places)


def test_blank_lines_are_looked_for_stretch_by_stretch(tmp_path, monkeypatch):
    monkeypatch.setattr(text_passages, "_STRETCH_BYTES", 7)
    lines = ["a" * (number % 5) for number in range(40)]
    (tmp_path / "a.txt").write_text("\n".join(lines))
    assert whole(open_text_passages(tmp_path / "a.txt", most=100, cache=tmp_path)) == documents_of(lines)


def test_a_byte_order_mark_is_no_text_and_places_are_told(tmp_path):
    (tmp_path / "a.txt").write_bytes("\ufeffone\n\ntwo\nthree\n".encode())
    passages = open_text_passages(tmp_path / "a.txt", most=100, cache=tmp_path)
    assert whole(passages) == ["one", "two\nthree"]
    assert passages.place(1) == f"{tmp_path / 'a.txt'}:3"
    assert passages.pair(1) == ("", "two\nthree")


def test_what_is_no_utf8_is_told_with_its_line(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"one\n\ntwo\nth\xffree\n")
    passages = open_text_passages(tmp_path / "a.txt", most=100, cache=tmp_path)
    with pytest.raises(InputError, match="line 4 is not UTF-8"):
        passages.passage(1)


@pytest.mark.parametrize("text", ["\ufeff", "\ufeff\n", "\ufeff \r\n\n", ""])
def test_a_byte_order_mark_alone_is_no_document(tmp_path, text):
    (tmp_path / "a.txt").write_bytes(text.encode())
    assert len(open_text_passages(tmp_path / "a.txt", most=9, cache=tmp_path)) == 0
    (tmp_path / "a.txt").write_bytes(f"{text}\nthree".encode())
    assert whole(open_text_passages(tmp_path / "a.txt", most=9, cache=tmp_path)) == ["three"]


def test_the_fingerprint_is_of_the_documents_and_not_of_their_passages(tmp_path):
    (tmp_path / "a.txt").write_text("one two three\n")
    few, many = (open_text_passages(tmp_path / "a.txt", most=most, cache=tmp_path) for most in (99, 4))
    assert len(few) < len(many)
    assert few.fingerprint == many.fingerprint
    (tmp_path / "a.txt").write_text("one two\n")
    assert open_text_passages(tmp_path / "a.txt", most=99, cache=tmp_path).fingerprint != few.fingerprint


def test_a_first_line_that_is_a_document_of_jsonl_is_seen(tmp_path):
    for name, text, seen in (
        ("a", '\n{"text": "a"}\n', True),
        ("b", 'a\n{"text": "a"}\n', False),
        ("c", "", False),
    ):
        (tmp_path / name).write_text(text)
        assert holds_jsonl(open_text_passages(tmp_path / name, most=9, cache=tmp_path)) is seen
