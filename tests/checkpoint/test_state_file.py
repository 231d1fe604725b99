import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.for_each import for_each
from trimtab.checkpoint.state_file import parse_state, render_state
from trimtab.types import TrainState

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.slow
@given(
    st.integers(0, 2**63 - 1),
    st.floats(allow_nan=False),
    st.dictionaries(st.text(max_size=4), plain, max_size=3),
)
def test_a_state_comes_back_number_for_number(count: int, seconds: float, data: dict[str, Any]):
    state = TrainState(step=count, position=count, seconds=seconds, data=data, guard={"scale": [seconds]})
    assert parse_state(render_state(state)) == state


def test_a_number_that_is_none_comes_back_as_none():
    assert math.isnan(parse_state(render_state(TrainState(best={"value": math.nan}))).best["value"])


@for_each("value", [(1, 2), {1: 2}, {"a": {None: 1}}, {1, 2}, b"bytes", TrainState])
def test_what_json_would_change_or_not_take_is_refused(value: Any):
    with pytest.raises(AssertionError):
        render_state(TrainState(data={"key": value}))


@for_each(
    ("content", "words"),
    [
        (b"", "is not JSON"),
        (b"\xff", "is not JSON"),
        (b"[" * 100_000, "is not JSON"),
        (b"[]", "fields of a training state"),
        (b"{}", "fields of a training state"),
        (render_state(TrainState()).replace(b"clips", b"clops"), "fields of a training state"),
        (render_state(TrainState()).replace(b'"step": 0', b'"step": "0"'), "has a wrong value: step"),
        (render_state(TrainState()).replace(b'"step": 0', b'"step": 0.5'), "has a wrong value: step"),
        (render_state(TrainState()).replace(b'"best": {}', b'"best": []'), "has a wrong value: best"),
        (b" " * (64 * 2**20 + 1), "has more than"),
    ],
)
def test_what_is_no_state_is_refused_with_a_reason(content: bytes, words: str):
    with pytest.raises(ValueError, match=words):
        parse_state(content)


@given(st.binary(max_size=100))
def test_junk_is_a_value_error_and_nothing_else(content: bytes):
    with pytest.raises(ValueError):
        parse_state(content)


def test_where_nothing_was_reset_a_state_is_written_as_by_older_versions():
    assert b"origin" not in render_state(TrainState())
    reset = TrainState(origin={"step": 60.0})
    assert parse_state(render_state(reset)) == reset
