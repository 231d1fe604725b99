import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.for_each import for_each
from trimtab.checks.read.words import split


def texts(script: str) -> list[list[str | None]]:
    return [[word.text for word in words] for words in split(script).commands]


@for_each(
    ("script", "expected"),
    [
        ("a b  c", [["a", "b", "c"]]),
        ("a \\\n  b\nc", [["a", "b"], ["c"]]),
        ("a \\\r\n  b\r\nc", [["a", "b"], ["c"]]),
        ("a; b && c || d | e & f", [["a"], ["b"], ["c"], ["d"], ["e"], ["f"]]),
        ("(a b)", [["a", "b"]]),
        ("a 'b c' \"d e\" f\\ g", [["a", "b c", "d e", "f g"]]),
        ("a b'c'\"d\"e", [["a", "bcde"]]),
        ('a "b\\"c" "d\\\\e" "f\\g"', [["a", 'b"c', "d\\e", "f\\g"]]),
        ("a ''", [["a", ""]]),
        ("a b#c # d e\nf", [["a", "b#c"], ["f"]]),
        ('a $b ${c} $(d e) `f g` h$i "j $k"', [["a", None, None, None, None, None, None]]),
        ("a '$b' \\$c", [["a", "$b", "$c"]]),
        ('a $(b "$(c)") d', [["a", None, "d"]]),
        ("a > out 2>&1 < in b", [["a", "b"]]),
        ("a >> out.log 2> err &", [["a"]]),
        ("cat <<EOF\nx --y 1\nEOF\na b", [["cat"], ["a", "b"]]),
        ("cat <<'E' > f\nx\nE\na", [["cat"], ["a"]]),
        ("a\n\n\nb", [["a"], ["b"]]),
        ("", []),
        ("a $", [["a", "$"]]),
        ("a=(b c)", [["a="], ["b", "c"]]),
    ],
)
def test_scripts_are_taken_apart_as_a_shell_does(script: str, expected: list[list[str | None]]):
    assert texts(script) == expected


def test_words_know_their_characters():
    (words,) = split("a 'b c'\\\n --d=\"$e\"").commands
    assert [word.raw for word in words] == ["a", "'b c'", '--d="$e"']
    assert [(word.start, word.end) for word in words] == [(0, 1), (2, 7), (10, 18)]


def test_comments_have_their_offset():
    assert split("a # b\n#c").comments == ((2, "b"), (6, "c"))


@pytest.mark.parametrize(("script", "at"), [("a 'b", 2), ('a "b\nc', 2), ('a "b\\"', 2)])
def test_an_open_quote_is_told(script: str, at: int):
    assert split(script).open_quote == at


@given(st.lists(st.text(alphabet="ab -='\"$#\\;\n", max_size=6), min_size=1, max_size=5))
def test_what_is_quoted_comes_back(words: list[str]):
    assert texts(shlex.join(["x", *words])) == [["x", *words]]


@given(st.text(alphabet="ab '\"\\$`(){}<>|&;#\n\r=-EO", max_size=30))
def test_any_text_is_taken_apart_and_every_word_stands_where_it_says(script: str):
    for words in split(script).commands:
        for word in words:
            assert script[word.start : word.end] == word.raw
