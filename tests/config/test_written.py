from pathlib import Path

import pytest

from tests.for_each import for_each
from trimtab.config.load import parse_recipe
from trimtab.config.written import lines_added
from trimtab.errors import InputError, Problem

LOADED = parse_recipe(
    "data:\n  train:\n    - {source: a, target: b}\nmodel: {preset: tiny}\n"
    "step:\n  precision: fp32\nlength: 600 steps\n",
    path=Path("r.yaml"),
    overrides=["seed=3"],
)


def told(what, **parts):
    with pytest.raises(InputError) as caught, lines_added(LOADED):
        raise InputError(Problem(what=what, **parts))
    assert str(caught.value) == str(caught.value.problems[0])
    return caught.value.problems[0]


@for_each(
    ("what", "where"),
    [
        ("data.train.0: a is not there", "r.yaml:3:7"),
        ("data.train.0.source: a is not there", "r.yaml:3:8"),
        ("data.train.corpora/prose is not what it was", "r.yaml:2:3"),
        ("data.tokenizer: not written, so its group is named", "r.yaml:1:1"),
        ("step.precision needs a GPU", "r.yaml:6:3"),
        ("recipe.seed is not what it was", "command line: seed=3"),
        ("length: too long", "r.yaml:7:1"),
        ("evaluate.beam: not in the file at all", "r.yaml"),
    ],
)
def test_what_is_said_of_a_key_gets_the_place_where_it_is_written(what, where):
    assert told(what).where == where


@pytest.mark.parametrize(
    "what", ["model and tokenizer differ", "/data.train: no such file", "tokenizer: other"]
)
def test_what_is_said_of_something_else_gets_none(what):
    assert told(what).where == ""


def test_a_place_in_a_file_is_kept():
    problem = told("data.train.0: a: line 3 is not UTF-8", got="byte e9", where="a:3:1")
    assert (problem.where, problem.got) == ("a:3:1", "byte e9")


def test_other_errors_pass():
    with pytest.raises(ZeroDivisionError), lines_added(LOADED):
        raise ZeroDivisionError
