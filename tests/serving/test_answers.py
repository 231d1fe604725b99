import pytest

from trimtab.serving.answers import check_lines, json_answer, lines_of
from trimtab.serving.refused import Refused


def test_a_text_has_a_line_more_than_line_ends():
    assert lines_of("a\nb\r\nc\rd\n") == ["a", "b", "c", "d", ""]
    assert lines_of("a\u2028b\x0cc") == ["a\u2028b\x0cc"]


def test_lines_within_the_limits_pass_and_others_are_named():
    check_lines(["abc"] * 2, max_lines=2, max_characters=3, name="lines")
    with pytest.raises(Refused, match="lines: too many"):
        check_lines([""] * 3, max_lines=2, max_characters=3, name="lines")
    with pytest.raises(Refused, match="line 2 is too long") as refused:
        check_lines(["", "abcd"], max_lines=2, max_characters=3, name="lines")
    assert refused.value.status == 413


def test_json_is_utf8():
    assert json_answer({"a": "ö"}).body == '{"a": "ö"}'.encode()
