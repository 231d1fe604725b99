import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.for_each import for_each
from trimtab.checks.read.decode import decode, printable
from trimtab.checks.read.limits import MAX_BYTES
from trimtab.errors import InputError


def test_text_comes_without_its_byte_order_mark_and_with_its_line_ends():
    assert decode("f", b"\xef\xbb\xbfa: 1\r\n") == "a: 1\r\n"


@for_each(
    ("data", "message", "where"),
    [
        (b"a" * (MAX_BYTES + 1), "too long", "f"),
        (b"a: 1\nb: \0", "a zero byte", "f:2"),
        ("a: 1".encode("utf-16"), "UTF-16", "f:1"),
        (b"a\nb\nc: \xff", "the byte 0xFF", "f:3"),
        ("café".encode("latin-1"), "the byte 0xE9", "f:1"),
    ],
)
def test_what_is_no_text_is_refused_with_its_line(data: bytes, message: str, where: str):
    with pytest.raises(InputError) as caught:
        decode("f", data)
    assert message in str(caught.value)
    assert caught.value.problems[0].where == where


def test_half_surrogates_are_replaced():
    assert printable("a\ud800b") == "a\ufffdb"
    assert printable("😀é") == "😀é"


def test_pairs_of_surrogates_are_what_they_mean():
    assert printable("é\ud83d\ude00") == "é😀"


@given(st.text(alphabet=st.characters(codec=None), max_size=20))
def test_printable_text_can_be_written(text: str):
    printable(text).encode("utf-8")
