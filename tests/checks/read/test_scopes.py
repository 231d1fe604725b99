import ast

from tests.for_each import for_each
from trimtab.checks.read.scopes import Scope, once, survey


def last_scope(code: str) -> Scope:
    """The scope of the last call."""
    return survey(ast.parse(code)).calls[-1][1]


def known(code: str, name: str = "x") -> str | None:
    found = once(last_scope(code), name)
    return None if found is None else ast.unparse(found[0])


@for_each(
    ("code", "value"),
    [
        ("x = 1\nf()", "1"),
        ("x: int = 1\nf()", "1"),
        ("x: int\nf()", None),
        ("x = 1\nx = 2\nf()", None),
        ("x = 1\nx += 2\nf()", None),
        ("x = 1\ndel x\nf()", None),
        ("x = y = 1\nf()", None),
        ("x, y = 1, 2\nf()", "1"),
        ("x, y = 1, 2\nx = 3\nf()", None),
        ("x, *y = 1, 2\nf()", None),
        ("x, y = *z, 2\nf()", None),
        ("x, y = z\nf()", None),
        ("x, (y, z) = 1, (2, 3)\nf()", None),
        ("for x in y: pass\nf()", None),
        ("with y as x: pass\nf()", None),
        ("try: pass\nexcept E as x: f()", None),
        ("import x\nf()", None),
        ("from y import x\nf()", None),
        ("def x(): pass\nf()", None),
        ("class x: pass\nf()", None),
        ("x = 1\nif (x := 2): f()", None),
        ("match y:\n case {'a': x, **z}: f()", None),
        ("match y:\n case [*x]: f()", None),
        ("x = 1\ndef g():\n f()", "1"),
        ("x = 1\ndef g(x):\n f()", None),
        ("x = 1\ndef g(*, x=2):\n f()", None),
        ("x = 1\ndef g(*x):\n f()", None),
        ("x = 1\ndef g():\n x = 2\n f()", "2"),
        ("x = 1\ndef g():\n global x\n x = 2\nf()", None),
        ("x = 1\ndef g():\n y = 2\n def h():\n  f()", "1"),
        ("def g():\n x = 1\n def h():\n  nonlocal x\n  x = 2\n f()", None),
        ("class C:\n x = 1\n def g(self): f()", None),
        ("class C:\n x = 1\n f()", "1"),
        ("x = 1\ny = [f() for x in z]", None),
        ("x = 1\ny = lambda x: f()", None),
        ("x = 1\nasync def g():\n await f()", "1"),
        ("def g():\n x = 1\nf()", None),
    ],
)
def test_a_name_is_known_where_it_is_bound_once_to_an_expression(code: str, value: str | None):
    assert known(code) == value


def test_defaults_and_decorators_belong_to_the_scope_around():
    found = survey(ast.parse("x = 1\n@d(x)\ndef g(x=f()): pass"))
    assert [scope is found.module for _, scope in found.calls] == [True, True]


def test_calls_come_in_the_order_of_the_file():
    found = survey(ast.parse("a(b(c()), d())\ne()"))
    assert [ast.unparse(node.func) for node, _ in found.calls] == ["a", "b", "c", "d", "e"]


def test_imports_are_top_level_packages_and_names_know_where_they_come_from():
    found = survey(
        ast.parse("import torch.nn as nn, os.path\nfrom a.b import C as D\nfrom . import e\nfrom .f import g")
    )
    assert found.imports == {"torch", "os", "a"}
    assert found.origins == {"nn": "torch.nn", "os": "os", "D": "C", "e": "e", "g": "g"}


def test_what_may_change_after_it_is_written_is_told():
    found = survey(
        ast.parse("a['k'] = 1\ndel b[0]\nc.update(x)\nd.keys()\nh(e)\nprint(g)\nsetattr(i, 'x', 1)\nj.k = 2")
    )
    assert found.mutated >= {"a", "b", "c", "e"}
    assert not found.mutated & {"d", "g", "j"}
    assert found.opened == {"i"}
    assert list(found.attributes) == ["j"]


def test_the_variable_of_a_result_is_told():
    found = survey(ast.parse("a = f()\nb.c = g()\nd = e = h()"))
    assert sorted(found.assigned_to.values()) == ["a"]


def test_a_deep_tree_is_walked_without_recursion():
    tree = ast.parse("x = " + "+".join(["1"] * 900))
    assert survey(tree).module.bindings["x"]
