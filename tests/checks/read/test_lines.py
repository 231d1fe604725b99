from hypothesis import given
from hypothesis import strategies as st

from trimtab.checks.place import Place
from trimtab.checks.read.lines import Lines

TEXTS = st.text(alphabet="ab\n\r\t\x0c\x85\u2028é😀", max_size=40)


def test_lines_and_columns_begin_at_one():
    assert Lines("f", "ab\ncd").position(0) == (1, 1)
    assert Lines("f", "ab\ncd").position(4) == (2, 2)
    assert Lines("f", "ab\ncd").position(5) == (2, 3)


def test_every_kind_of_line_end_ends_one_line():
    assert Lines("f", "a\r\nb\rc\nd").starts == [0, 3, 5, 7]


def test_form_feeds_and_separators_of_unicode_end_no_line():
    assert Lines("f", "a\x0cb\x85c\u2028d").starts == [0]


def test_a_place_has_its_end():
    assert Lines("f", "ab\ncd").place(1, 4) == Place("f", 1, 2, 2, 2)
    assert Lines("f", "ab\ncd").where(3) == "f:2:1"


@given(TEXTS)
def test_a_position_leads_back_to_its_offset(text: str):
    lines = Lines("f", text)
    for offset in range(len(text) + 1):
        line, column = lines.position(offset)
        assert lines.starts[line - 1] + column - 1 == offset


@given(TEXTS)
def test_the_lines_of_a_text_are_the_whole_text_without_its_line_ends(text: str):
    lines = Lines("f", text)
    told = [lines.line(number) for number in range(1, len(lines) + 1)]
    assert "".join(told) == text.replace("\r", "").replace("\n", "")
    assert (lines.line(0), lines.line(len(lines) + 1)) == ("", "")
