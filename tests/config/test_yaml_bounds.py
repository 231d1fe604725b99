import json

import pytest

from trimtab.checks.read.json import read_json
from trimtab.checks.read.yaml import read_yaml as read_to_check
from trimtab.config.read_yaml import read_yaml as read_to_train
from trimtab.config.yaml_bounds import MAX_DEPTH, MAX_VALUES
from trimtab.errors import InputError


def lists(levels):
    return "a: " + "[" * (levels - 1) + "]" * (levels - 1)


def groups(levels):
    return "".join(f"{'  ' * level}k{level}:\n" for level in range(levels - 1)) + "  " * levels + "k: 1"


def by_alias(levels):
    """As deep only where aliases are written out."""
    first = levels // 2
    return f"a: &x {'[' * first}1{']' * first}\nb: {'[' * (levels - 1 - first)}*x{']' * (levels - 1 - first)}"


def what_is_refused(read, text):
    try:
        read(text)
    except InputError as error:
        return error.problems[0].what
    return None


def to_train(text):
    read_to_train(text, name="r.yaml")


def to_check(text):
    read_to_check("r.yaml", text, dialect="yaml12")


@pytest.mark.parametrize("write", [lists, groups, by_alias])
@pytest.mark.parametrize("levels", [MAX_DEPTH - 1, MAX_DEPTH, MAX_DEPTH + 1, MAX_DEPTH + 2, 3 * MAX_DEPTH])
def test_a_recipe_is_as_deep_for_train_as_for_check(write, levels):
    told = "nested too deeply" if levels > MAX_DEPTH else None
    assert what_is_refused(to_train, write(levels)) == told
    assert what_is_refused(to_check, write(levels)) == told


@pytest.mark.parametrize("levels", [MAX_DEPTH, MAX_DEPTH + 1])
def test_json_is_as_deep_as_yaml(levels):
    value = []
    for _ in range(levels - 1):
        value = [value]
    told = "nested too deeply" if levels > MAX_DEPTH else None
    assert what_is_refused(lambda text: read_json("c.json", text), json.dumps(value)) == told


@pytest.mark.quick("90-None")
@pytest.mark.parametrize(("times", "told"), [(90, None), (110, "too many values")])
def test_a_recipe_has_as_many_values_for_train_as_for_check(times, told):
    each = MAX_VALUES // 100
    text = f"a: &x [{'1, ' * each}]\nb: [{'*x, ' * (times - 1)}]"
    assert what_is_refused(to_train, text) == told
    assert what_is_refused(to_check, text) == told
