import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.for_each import for_each
from trimtab.config.read_yaml import Position, read_yaml
from trimtab.config.yaml_bounds import MAX_VALUES
from trimtab.errors import InputError


def read(text: str):
    return read_yaml(text, name="r.yaml").value


def problem(text: str):
    with pytest.raises(InputError) as raised:
        read(text)
    return raised.value.problems[0]


@for_each(
    ("text", "value"),
    [
        ("1e-4", 1e-4), ("5.0e-4", 5e-4), ("1E3", 1000.0), (".5", 0.5), ("-1.5", -1.5), ("1_000", 1000), ("+3", 3),
        ("0x1F", 31), ("0o17", 15), ("010", 10), ("no", "no"), ("yes", "yes"), ("on", "on"), ("true", True),
        ("False", False), ("null", None), ("~", None), ("2001-01-01", "2001-01-01"), ("12:30:00", "12:30:00"),
        ("'1'", "1"), ('"\\u00e9"', "é"), ("500 steps", "500 steps"), ("!!str 3", "3"), ("[]", []), ("{}", {}),
        ("[1, a, [b]]", [1, "a", ["b"]]),
    ],
)  # fmt: skip
def test_scalars_are_those_of_yaml_1_2(text, value):
    got = read(f"key: {text}\n")["key"]
    assert got == value
    assert type(got) is type(value)


def test_keys_are_always_text():
    assert read("no: 1\n3: 2\nnull: 3\n") == {"no": 1, "3": 2, "null": 3}


def test_every_key_and_item_has_its_line_and_column():
    tree = read_yaml("a:\n  - b: 1\n    c: 2\n  - {d: 3}\n", name="r.yaml")
    assert tree.positions == {
        "": Position(1, 1), "a": Position(1, 1), "a.0": Position(2, 5), "a.0.b": Position(2, 5),
        "a.0.c": Position(3, 5), "a.1": Position(4, 5), "a.1.d": Position(4, 6),
    }  # fmt: skip


def test_aliases_give_what_their_anchor_gives():
    assert read("a: &x {b: [1, 2]}\nc: *x\n") == {"a": {"b": [1, 2]}, "c": {"b": [1, 2]}}


def test_a_duplicate_key_names_both_lines():
    found = problem("a:\n  b: 1\n  c: 2\n  b: 3\n")
    assert found.what == "a.b: written twice"
    assert found.got == "first in line 2, again in line 4"
    assert found.where == "r.yaml:4:3"


def test_all_duplicates_are_reported_at_once():
    with pytest.raises(InputError) as raised:
        read("a: 1\na: 2\nb: 1\nb: 2\n")
    assert [found.where for found in raised.value.problems] == ["r.yaml:2:1", "r.yaml:4:1"]


@for_each(
    ("text", "what", "where"),
    [
        ("a:\n\t- b", "a tab where YAML needs spaces", "r.yaml:2:1"),
        ("a: b: c", "a colon or a key where YAML does not allow one", "r.yaml:1:5"),
        ("a: [1,", "a bracket is opened and not closed", "r.yaml:1:7"),
        ("a: 'x", "a quote is opened and not closed", "r.yaml:1:6"),
        ("a: @b", "a character that cannot begin a value", "r.yaml:1:4"),
        ("a: 1\n---\nb: 2", "a second document begins", "r.yaml:2:1"),
        ("a: *x", "an alias of something not defined before", "r.yaml:1:4"),
        ("a:\n    b: 1\n  c: 2", "a line that fits no level of indentation", "r.yaml:3:3"),
        ("a\nb: 1\nc", "a colon or a key where YAML does not allow one", "r.yaml:2:2"),
        ("a: 1\nb: x\x01", "a character that YAML does not allow", "r.yaml:2:5"),
        ("%YAML 1.1\n---\na: no", "not YAML 1.2", "r.yaml:1:1"),
        ("a: !!python/object x", "a value with a YAML tag", "r.yaml:1:4"),
        ("? [a]\n: 3", "a key that is not a string", "r.yaml:1:3"),
        ("a: " + "[" * 2000, "nested too deeply", "r.yaml:1:104"),
        ("a: &x [*x]", "an alias inside its own anchor", "r.yaml:1:4"),
        ("a: &x {b: [1, {c: *x}]}", "an alias inside its own anchor", "r.yaml:1:4"),
    ],
)  # fmt: skip
def test_what_is_not_yaml_is_said_with_its_place(text, what, where):
    found = problem(text)
    assert (found.what, found.where) == (what, where)


@pytest.mark.slow
def test_a_billion_laughs_are_not_laughed():
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]" for level in range(1, 9)]
    found = problem("\n".join(lines))
    assert found.what == "too many values"
    assert f"{MAX_VALUES:,}" in found.allowed


@pytest.mark.quick("a: &x [*x]", "? [a]\\n: 3", "? {a: 1}\\n: 3")
@pytest.mark.parametrize(
    "text",
    [
        "a: &x [*x]",
        "a: " + "[" * 2000,
        "? [a]\n: 3",
        "a: &x [" + "1, " * 1000 + "]\nb: [" + "*x, " * 100 + "]",
        "? {a: 1}\n: 3",
    ],
)
def test_what_is_no_recipe_is_told_with_what_was_got_and_what_to_do(text):
    found = problem(text)
    assert found.got
    assert found.allowed
    assert found.fix


def test_an_alias_beside_what_it_names_is_no_alias_inside_it():
    assert read_yaml("a: &x [1]\nb: {c: *x, d: [*x, *x]}", name="r.yaml").value["b"] == {
        "c": [1],
        "d": [[1], [1]],
    }


@pytest.mark.slow
@given(st.text(alphabet="ab:-[]{}&*!|>'\"%@`#,? \n\t01.e<~\\\x00\u2028é", max_size=30) | st.text(max_size=20))
def test_any_text_is_read_or_refused_with_a_place(text):
    assert all(where.startswith("r.yaml") for where in places_of_problems(text))


def places_of_problems(text):
    try:
        read(text)
    except InputError as error:
        return [found.where for found in error.problems]
    return []


def test_long_keys_around_many_are_refused_before_they_fill_the_memory(monkeypatch):
    monkeypatch.setattr("trimtab.config.read_yaml.LONGEST_PATHS", 2_000_000)
    text = f"? {'k' * 100_000}\n: [{', '.join(['1'] * 30)}]"
    with pytest.raises(InputError, match="too many values"):
        read_yaml(text, name="recipe.yaml")
