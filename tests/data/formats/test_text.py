import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.data.formats.text import text_of, texts_of
from trimtab.data.lines import open_lines
from trimtab.errors import InputError


def lines_of(folder, content, *, name="train.en"):
    (folder / name).write_bytes(content)
    return open_lines(folder / name, cache=folder / "cache")


@given(
    st.lists(st.text(st.characters(exclude_characters="\n\r\ufeff\0", exclude_categories=["Cs"])), min_size=1)
)
def test_text_comes_back_as_it_was_written(tmp_path_factory, texts):
    lines = lines_of(tmp_path_factory.mktemp("text"), "".join(text + "\n" for text in texts).encode())
    assert [text_of(lines, number) for number in range(len(lines))] == texts


def test_a_byte_order_mark_is_dropped_on_the_first_line_only(tmp_path):
    lines = lines_of(tmp_path, "\ufeffone\n\ufefftwo\n".encode())
    assert text_of(lines, 0) == "one"
    assert text_of(lines, 1) == "\ufefftwo"


@pytest.mark.parametrize("packed", [False, True])
def test_bytes_that_are_not_utf8_are_named_with_line_and_place(tmp_path, packed):
    content = "eins\nzwölf Söhne\n".encode().replace("Sö".encode(), "Sö".encode("latin-1"))
    name = "train.de.gz" if packed else "train.de"
    lines = lines_of(tmp_path, gzip.compress(content) if packed else content, name=name)
    with pytest.raises(InputError) as caught:
        text_of(lines, 1)
    (problem,) = caught.value.problems
    assert problem.what == f"{tmp_path / name}: line 2 is not UTF-8"
    assert problem.got.startswith("byte f6 at byte 8 of the line, 13 of the text")
    assert problem.where == f"{tmp_path / name}:2:8"
    assert "iconv" in problem.fix


def test_a_line_that_ends_within_a_character_is_named(tmp_path):
    with pytest.raises(InputError, match="line 1 is not UTF-8"):
        text_of(lines_of(tmp_path, "ö".encode()[:1]), 0)


def test_utf16_is_recognised(tmp_path):
    with pytest.raises(InputError, match="iconv -f UTF-16"):
        text_of(lines_of(tmp_path, "one\ntwo\n".encode("utf-16")), 0)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("text", ["Hello\nworld\nagain\n", "Grüße\nworld\nagain\n"])
def test_utf_16_without_a_mark_is_named_with_what_turns_it_into_utf_8(tmp_path, encoding, text):
    lines = lines_of(tmp_path, text.encode(encoding))
    for number in range(3):
        with pytest.raises(InputError) as caught:
            text_of(lines, number)
        assert (
            f"`iconv -f {encoding.upper().replace('-L', 'L').replace('-B', 'B')} -t UTF-8`"
            in caught.value.problems[0].fix
        )


def test_a_single_nul_is_text_like_any_other(tmp_path):
    assert text_of(lines_of(tmp_path, b"the\0small ship\n"), 0) == "the\0small ship"


ODD = st.sampled_from(
    [
        b"one",
        "zwölf".encode(),
        b"",
        b"\0",
        b"a\0b",
        b"\xff",
        b"\xc3",
        "\ufeff".encode(),
        b"x\r",
        "Hello".encode("utf-16-le"),
        "Hello".encode("utf-16-be"),
    ]
)


@given(st.lists(ODD, min_size=1), st.data())
def test_many_texts_at_once_are_those_of_one_by_one_and_so_is_what_is_said_of_bad_ones(
    tmp_path_factory, texts, data
):
    lines = lines_of(tmp_path_factory.mktemp("text"), b"".join(text + b"\n" for text in texts))
    numbers = data.draw(st.lists(st.integers(0, len(texts) - 1)))
    one_by_one = until_bad(text_of(lines, number) for number in numbers)
    assert until_bad(texts_of(lines, numbers)) == one_by_one


def until_bad(texts):
    """The texts up to the first that cannot be read, and what is said of that one."""
    found = []
    try:
        for text in texts:
            found.append(text)
    except InputError as error:
        return found, error.problems
    return found, ()
