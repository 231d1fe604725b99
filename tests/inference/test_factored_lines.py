from io import BytesIO

import pytest

from trimtab.errors import InputError
from trimtab.inference.factored_lines import FactoredLines


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
