import ast

from trimtab.checks.document import UNKNOWN
from trimtab.checks.read.flow.frames import Frame, either, ends, leaves, loosened, merged, stored_names
from trimtab.checks.read.flow.values import Value


def body(text):
    return ast.parse(text).body


def test_names_are_found_further_out_and_bound_here():
    outer, one = Frame(), Value()
    inner = Frame(outer=outer)
    outer.put("a", one)
    assert inner.find("a") is one
    inner.put("a", Value())
    assert outer.find("a") is one
    assert inner.find("b") is None


def test_global_names_are_bound_in_the_script():
    outer = Frame()
    inner = Frame(outer=outer, globals={"a"})
    value = Value()
    inner.put("a", value)
    assert outer.names == {"a": value}


def test_stored_names_are_those_of_the_body_and_not_of_functions_in_it():
    assert stored_names(body("a = 1\nfor b in c: d += 1\ndef f(): e = 1\nwith x as g: pass")) == {
        "a",
        "b",
        "d",
        "g",
    }


def test_a_constant_is_loosened_and_an_object_is_not():
    number, model = Value(made="constant", constant=3), Value(made="call", name="A")
    assert loosened(number).constant is UNKNOWN
    assert loosened(model) is model


def test_what_leaves():
    assert leaves(body("for x in y: pass\nraise z")) is True
    assert leaves(body("if a:\n    raise b\nelse:\n    raise c")) is True
    assert leaves(body("if a:\n    raise b")) is False
    assert leaves([]) is False


def test_branches_are_merged_by_name():
    one, other = Value(), Value()
    told = merged({"a": one, "b": one}, {"a": one, "b": other, "c": other})
    assert (told["a"], told["c"]) == (one, other)
    assert told["b"].args == (one, other)


def test_something_or_none_is_something():
    model, none = Value(made="call"), Value(made="constant", constant=None)
    assert either((none, model)) is model
    assert either((model, model)) is model


def test_what_ends_a_loop_or_a_function():
    assert ends(body("while a:\n    break")[0].body)
    assert ends(body("a\nraise b"))
    assert not ends(body("while a:\n    continue")[0].body)
    assert not ends([])
