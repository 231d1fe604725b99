import pytest

from tests.for_each import for_each
from trimtab.checks.read.toml import MAX_PARTS, read_toml
from trimtab.errors import InputError


def test_tables_are_plain_values():
    assert read_toml("a.toml", "[a.b]\nc = [1, 'x']\n") == {"a": {"b": {"c": [1, "x"]}}}
    assert read_toml("a.toml", "a" + ".a" * 40 + " = 1")


@for_each(
    ("text", "what"),
    [
        ("a = ", "not valid TOML"),
        ("a = " + "1" * 5_000, "not valid TOML"),
        ("a = " + "[" * 100_000, "nested too deeply"),
        ("a = " + "{a = " * 100_000, "nested too deeply"),
        ("a" + ".a" * MAX_PARTS + " = 1", "parts"),
        ("x = 1\n[a" + " . 'a'" * 20_000 + "]", "parts"),
    ],
)
def test_what_is_wrong_or_has_no_bounds_is_told(text, what):
    with pytest.raises(InputError, match=what):
        read_toml("a.toml", text)


@for_each("text", ["a" * 500_000, "a" + " " * 500_000, "a" + " ." * 200_000, "a.a.a " * 80_000])
def test_the_look_for_long_keys_takes_one_pass(text):
    with pytest.raises(InputError, match="not valid TOML"):
        read_toml("a.toml", text)
