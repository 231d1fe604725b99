import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.refusal import has_four_parts
from tests.for_each import for_each
from trimtab.checks.read.yaml import read_yaml as read_to_check
from trimtab.config.read_yaml import read_yaml as read_to_train
from trimtab.config.yaml_faults import excerpt, yaml_fault
from trimtab.errors import InputError

BROKEN = {
    "<<: 1": "`<<` merges what is no mapping",
    "a: *x": "an alias of something not defined before",
    "a: &x [*x]": "an alias inside its own anchor",
    "a: * b": "an alias without a name",
    "a: & b": "an anchor without a name",
    "a: !<b": "a tag that is none of YAML's",
    "a: !u!b c": "a tag that is none of YAML's",
    "a: " + "!" + "x" * 1001 + " 1": "a tag of more than 1,000 characters",
    "a: > b": "text after | or >, which begin a block on the next lines",
    'a: "\\q"': "an escape that YAML does not know",
    'a: "b': "a quote is opened and not closed",
    "a: [1": "a bracket is opened and not closed",
    "a: b: c": "a colon or a key where YAML does not allow one",
    "a: - b": "a list item where YAML does not allow one",
    "%YAML 1.1\n%YAML 1.1\n---\na: 1": "a line with % that YAML does not understand",
    "a: 1\n---\nb: 1": "a second document begins",
    "a: 1\na: 2": "a: written twice",
    "? [a]\n: 3": "a key that is not a string",
}
SIGNS = ["a", "b: ", "&x ", "*x", "<<: ", "- ", "\n", "  ", "[", "]", "{", "}", ", ", "!t ", "!<", "'", '"', "#", "| ",
         "> ", "? ", ": ", "%YAML 1.1\n", "---\n", "...\n", "&", "*", "@", "\t", "`", "\\", "1", "%TAG ! x\n",
         "!a!b "]  # fmt: skip


def problems(text):
    found = []
    for read in (
        lambda: read_to_train(text, name="f.yaml"),
        lambda: read_to_check("f.yaml", text, dialect="yaml12"),
        lambda: read_to_check("f.yaml", text),
    ):
        try:
            read()
        except InputError as error:
            found.extend(error.problems)
    return found


@for_each(("text", "what"), BROKEN.items())
def test_broken_yaml_is_told_with_what_stands_there_and_what_to_do(text, what):
    found = problems(text)
    assert what in {each.what for each in found}
    assert [each for each in found if not (each.got and each.allowed and each.fix and each.where)] == []


@pytest.mark.slow
@given(st.lists(st.sampled_from(SIGNS), max_size=12).map("".join))
def test_whatever_is_refused_for_train_or_check_is_told_in_four_parts(text):
    for each in problems(text):
        assert has_four_parts(f"error: {InputError(each)}"), each


def test_what_the_parser_says_otherwise_is_told_in_its_words():
    error = yaml_fault("found something odd", context="while looking", text="a: b\nc", at=3, where="f:1:4")
    (found,) = error.problems
    assert (found.what, found.got) == ("not YAML: while looking found something odd", "a: b")
    assert has_four_parts(f"error: {error}")


@for_each(
    ("text", "at", "shown"),
    [
        ("x\na: [1\nb", 5, "a: [1"), ("a: 'x", 5, "a: 'x"), ("", 0, "the end of the file"),
        ("a\n\nb", 2, "an empty line"), ("a: \x07", 3, "a: \\x07"), ("w" * 9 + "x" * 80, 9, "x" * 60 + "..."),
        ("x" * 80, 80, "..." + "x" * 60), ("a", None, "what the parser cannot read"),
    ],
)  # fmt: skip
def test_an_excerpt_is_the_line(text, at, shown):
    assert excerpt(text, at) == shown
