import bz2
import gzip
import io
import lzma
import random
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.for_each import for_each
from trimtab.decode import reading
from trimtab.decode.reading import read_lines
from trimtab.errors import InputError


def read(data: bytes) -> list[str]:
    return list(read_lines(io.BytesIO(data)))


@for_each(
    ("data", "lines"),
    [
        (b"", []),
        (b"\n", [""]),
        (b"a\nb\n", ["a", "b"]),
        (b"a\nb", ["a", "b"]),
        (b"a\r\nb\r\n", ["a", "b"]),
        (b"a\r\r\nb\r", ["a\r", "b"]),
        (b"a\n\n\nb\n", ["a", "", "", "b"]),
        (b"a\x00b\x1c\x0c\n", ["a\x00b\x1c\x0c"]),
        ("a\u2028b\x85c\rd\n".encode(), ["a\u2028b\x85c\rd"]),
        (b"\xef\xbb\xbfa\n\xef\xbb\xbfb\n", ["a", "\ufeffb"]),
        (b"\xef\xbb\xbf", []),
        (b"\xef\xbb\xbf\n", [""]),
    ],
)
def test_only_line_feeds_separate_lines(data, lines):
    assert read(data) == lines


@given(
    st.lists(
        st.text(st.characters(exclude_characters="\n\0", exclude_categories=["Cs"])).filter(
            lambda line: not line.endswith("\r") and not line.startswith("\ufeff")
        )
    )
)
def test_what_was_written_line_by_line_is_read_back(lines):
    assert read("".join(line + "\n" for line in lines).encode()) == lines


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("text", ["Hello\nworld\n", "\nHello", "Grüße\n", "a Hi\n"])
def test_utf_16_without_a_mark_is_refused_with_what_turns_it_into_utf_8(encoding, text):
    with pytest.raises(InputError) as caught:
        read(text.encode(encoding))
    assert f"`iconv -f {encoding.upper().replace('-L', 'L').replace('-B', 'B')} -t UTF-8`" in str(
        caught.value
    )


def test_a_few_nuls_are_kept_and_told_by_line(caplog):
    data = b"".join(b"a\0b\n" if number in (1, 3, 4, 6, 7) else b"ok\n" for number in range(8))
    assert len(list(read_lines(io.BytesIO(data), name="x.en"))) == 8
    assert [message.partition(" has")[0] for message in caplog.messages] == [
        "x.en: line 2", "x.en: line 4", "x.en: line 5"
    ]  # fmt: skip
    assert "further lines" in caplog.messages[-1]


def test_a_wrong_byte_is_named_by_line_value_and_offset_after_the_lines_before_it():
    found = read_lines(io.BytesIO("Grüße\r\nab\n".encode() + b"xyz\xe4h\n"), name="input.en")
    assert [next(found), next(found)] == ["Grüße", "ab"]
    with pytest.raises(InputError) as raised:
        next(found)
    (problem,) = raised.value.problems
    assert problem.what == "input.en: line 3 is not UTF-8"
    assert problem.got.startswith("byte e4 at byte 3 of the line, 15 of the text")
    assert problem.where == "input.en:3:4"
    assert "iconv" in problem.fix


def test_offsets_count_the_byte_order_mark():
    with pytest.raises(InputError, match="byte ff at byte 1 of the line, 4 of the text"):
        read(b"\xef\xbb\xbfa\xff\n")


@for_each("data", [b"\xed\xa0\x80\n", b"\xc0\xaf\n", b"\xf4\x90\x80\x80\n", b"\xe2\x82", b"\x80\n"])
def test_surrogates_overlong_forms_and_cut_characters_are_not_utf_8(data):
    with pytest.raises(InputError, match="line 1 is not UTF-8"):
        read(data)


def test_a_line_without_an_end_is_refused_before_it_is_read_whole(monkeypatch):
    monkeypatch.setattr(reading, "LONGEST_LINE_BYTES", 10)
    binary = io.BytesIO(b"short\n0123456789\n" + b"x" * 500)
    found = read_lines(binary)
    assert [next(found), next(found)] == ["short", "0123456789"]
    with pytest.raises(InputError, match="line 3 is too long"):
        next(found)
    assert binary.tell() < 40


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, bz2.compress, zlib.compress])
def test_what_is_no_text_in_any_encoding_is_not_offered_a_conversion(pack):
    with pytest.raises(InputError) as caught:
        read(pack(random.Random(1).randbytes(3000)))
    assert "iconv" not in str(caught.value)
    assert "is binary" in str(caught.value)
