from io import BytesIO

import pytest

from trimtab.errors import InputError
from trimtab.inference.factored_lines import FactoredLines, WrittenFactors


def joined(text, **files):
    opened = {name: BytesIO(content.encode()) for name, content in files.items()}
    return FactoredLines(BytesIO(text.encode()), opened, name="text")


def test_words_come_with_the_values_of_all_files():
    lines = joined("a b\n\nc\n", pos="X Y\n\nZ\n", ner="1 2\n\n3\n")
    assert [*iter(lambda: lines.readline(10), b"")] == [b"a|X|1 b|Y|2\n", b"\n", b"c|Z|3\n"]


def test_what_does_not_fit_is_named_with_its_line_after_the_lines_before_it():
    lines = joined("a b\nc\n", pos="X Y\nZ Z\n")
    assert lines.readline(10) == b"a|X b|Y\n"
    with pytest.raises(InputError, match="pos: line 2 has 2 values for 1 source word") as caught:
        lines.readline(10)
    assert "text:2" in str(caught.value)


@pytest.mark.parametrize(("text", "pos", "ends"), [("a\nb\n", "X\n", "pos"), ("a\n", "X\nY\n", "text")])
def test_a_file_that_ends_first_is_named(text, pos, ends):
    lines = joined(text, pos=pos)
    lines.readline(10)
    with pytest.raises(InputError, match=f"{ends}: ends before"):
        lines.readline(10)


def test_a_word_without_the_values_behind_it_is_named_with_its_line():
    lines = WrittenFactors(BytesIO("\ufeffa|X|1 b|c|Y|2\r\n\n \na|X\n".encode()), 2, name="text")
    read = [lines.readline(10) for _ in range(3)]
    assert read == [b"a|X|1 b|c|Y|2\n", b"\n", b" \n"]
    with pytest.raises(InputError, match="text: line 4 has a word with no values of the 2 source") as caught:
        lines.readline(10)
    assert (caught.value.problems[0].where, caught.value.problems[0].got) == ("text:4", "'a|X' in 'a|X'")


def test_a_text_whose_words_have_all_values_ends_as_it_does():
    lines = WrittenFactors(BytesIO(b"a|X"), 1, name="text")
    assert [*iter(lambda: lines.readline(10), b"")] == [b"a|X\n"]
