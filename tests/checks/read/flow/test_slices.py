import ast

from tests.checks.read.flow.following import flow
from tests.for_each import for_each
from trimtab.checks.read.flow.slices import bounds_of, cut, is_next_of, is_tail_of, plain


@for_each(
    ("text", "bounds"),
    [
        ("x[:, 1:]", (1, None)),
        ("x[..., :-1, :]", (None, -1)),
        ("x[1:]", (1, None)),
        ("x[:, :n]", (None, "n")),
        ("x[0]", None),
        ("x[:, :]", None),
        ("x[1:, 2:]", None),
        ("x[::2]", None),
    ],
)
def test_the_one_part_that_cuts(text, bounds):
    assert bounds_of(ast.parse(text, mode="eval").body.slice) == bounds


def given(text):
    return next(flow(text).named("use")).value.args


@for_each(
    ("text", "told"),
    [
        ("use(x[:, 1:], x[:, :-1])", True),
        ("use(x[:, 1:].contiguous(), x[:, :-1].to(d))", True),
        ("use(x[:, 1:], y[:, :-1])", False),
        ("use(x[:, :-1], x[:, 1:])", False),
        ("use(x, x[:, :-1])", False),
    ],
)
def test_tail_and_head_of_one_tensor(text, told):
    assert is_tail_of(*given(text)) is told


def test_shapes_and_devices_change_no_position():
    (value,) = given("use(x.view(-1).float().to(d))")
    assert plain(value).name == "x"
    assert plain(None) is None
    assert cut(value) is None


@for_each(
    ("one", "other", "is_next"),
    [
        ("x[1:9]", "x[0:8]", True),
        ("x[i + 1 : i + n + 1]", "x[i : i + n]", True),
        ("x[i + 1 : i + 1 + n]", "x[i:n + i]", True),
        ("x[i + 2 : i + n + 1]", "x[i : i + n]", False),
        ("x[i + 1 : i + n + 1]", "y[i : i + n]", False),
        ("x[j + 1 : j + n + 1]", "x[i : i + n]", False),
    ],
)
def test_the_same_stretch_one_position_on(one, other, is_next):
    assert is_next_of(*given(f"use({one}, {other})\nloss.backward()\n")) == is_next
