import ast
import math
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.for_each import for_each
from trimtab.checks.document import UNKNOWN
from trimtab.checks.read.literals import Literals, dotted_name
from trimtab.checks.read.scopes import survey


def value(expression: str, before: str = "") -> Any:
    found = survey(ast.parse(f"{before}\nf(a={expression})"))
    call, scope = next((call, scope) for call, scope in found.calls if ast.unparse(call.func) == "f")
    return Literals(found).value(call.keywords[0].value, scope)


@for_each(
    ("expression", "expected"),
    [
        ("1", 1),
        ("-2.5", -2.5),
        ("+3", 3),
        ("'a' 'b'", "ab"),
        ("None", None),
        ("not True", False),
        ("(0.9, 0.98)", [0.9, 0.98]),
        ("['q_proj', 'v_proj']", ["q_proj", "v_proj"]),
        ("{'a', }", ["a"]),
        ("{'use_reentrant': False}", {"use_reentrant": False}),
        ("dict(a=1, b=[2])", {"a": 1, "b": [2]}),
        ("2e-5 * 4", 8e-05),
        ("1024 * 8", 8192),
        ("10 // 3 + 7 % 4 - 1", 5),
        ("2 ** 10", 1024),
        ("1 / 4", 0.25),
        ("'a' + 'b'", "ab"),
    ],
)
def test_literals_and_plain_arithmetic_have_a_value(expression: str, expected: object):
    got = value(expression)
    assert (got, type(got)) == (expected, type(expected))


@for_each(
    "expression",
    [
        "x",
        "g()",
        "args.lr",
        "1 if x else 2",
        "[1, x]",
        "{'a': x}",
        "{**x}",
        "{1: 2}",
        "f'{x}'",
        "b'x'",
        "1j",
        "...",
        "-'a'",
        "not 1",
        "~1",
        "True + 1",
        "'a' * 3",
        "1 / 0",
        "9 ** 9 ** 9",
        "0 ** -1",
        "(-8) ** 0.5",
        "1 << 70",
        "1" + "0" * 90,
        "0x" + "f" * 100_000,
        "[*x]",
        "'%s' % 'a'",
        "x[0]",
        "lambda: 1",
        "1e308 * 10 // 0",
    ],
)
def test_all_else_is_unknown(expression: str):
    assert value(expression) is UNKNOWN


@for_each(
    ("before", "expression", "expected"),
    [
        ("import torch", "torch.bfloat16", "torch.bfloat16"),
        ("import torch as t", "t.float16", "torch.float16"),
        ("import torch", "torch.cuda.x", UNKNOWN),
        ("", "torch.bfloat16", UNKNOWN),
        ("from transformers import IntervalStrategy", "IntervalStrategy.STEPS", "IntervalStrategy.STEPS"),
        ("from peft import TaskType as T", "T.CAUSAL_LM", "TaskType.CAUSAL_LM"),
        ("from settings import Config", "Config.RATE", UNKNOWN),
        ("class Config:\n  RATE = 1\nimport torch", "Config.RATE", 1),
        ("import argparse, torch\nargs = p.parse_args()", "args.lr", UNKNOWN),
    ],
)
def test_types_and_members_of_libraries_are_their_names(before: str, expression: str, expected: object):
    assert value(expression, before) == expected


@for_each(
    ("before", "expression", "expected"),
    [
        ("lr = 2e-5", "lr", 2e-5),
        ("lr = 2e-5\nbest = lr * 2", "best", 4e-5),
        ("x = x", "x", UNKNOWN),
        ("x = y\ny = x", "x", UNKNOWN),
        ("names = ['a']", "names", ["a"]),
        ("names = ['a']\nnames.append('b')", "names", UNKNOWN),
        ("names = ['a']\nfill(names)", "names", UNKNOWN),
        ("names = ['a']\nprint(names)", "names", ["a"]),
        ("c = {'a': 1}\nc['a'] = 2", "c", UNKNOWN),
        ("a = [1]\nb = [a, a]", "b", UNKNOWN),
    ],
)
def test_a_name_assigned_once_is_its_literal(before: str, expression: str, expected: object):
    assert value(expression, before) == expected


def test_chains_of_names_take_no_time():
    before = "n0 = 1\n" + "\n".join(f"n{i} = n{i - 1} + n{i - 1}" for i in range(1, 23))
    assert value("n22", before) == 2**22


def test_a_name_that_is_called_has_its_dotted_name():
    call = ast.parse("nn.a.B()").body[0]
    assert isinstance(call, ast.Expr)
    assert isinstance(call.value, ast.Call)
    assert dotted_name(call.value.func, {"nn": "torch.nn"}) == "torch.nn.a.B"
    assert dotted_name(call.value, {}) == ""


LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**200), 2**200)
    | st.text(max_size=5)
    | st.floats(allow_nan=False, allow_infinity=False)
)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(TREES)
def test_what_python_writes_is_read_back(tree: Any):
    assert value(f"[{tree!r}]") == [tree]


def test_a_number_beyond_all_others_is_infinity():
    assert value("[1e999, {'inf': -1e999}]") == [math.inf, {"inf": -math.inf}]
