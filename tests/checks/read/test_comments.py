from trimtab.checks.read.comments import comments_outside
from trimtab.checks.read.lines import Lines


def test_comments_have_their_line_and_no_sign():
    assert comments_outside([], Lines("f", "a #  one \n#two\r\n\n#")) == ((1, "one"), (2, "two"), (4, ""))


def test_a_sign_inside_a_value_is_only_a_character():
    text = "'a # b' # c"
    assert comments_outside([(0, 7)], Lines("f", text)) == ((1, "c"),)


def test_values_inside_values_count_once():
    text = "aa#aaaa#a # c"
    assert comments_outside([(1, 4), (0, 9), (5, 8)], Lines("f", text)) == ((1, "c"),)
