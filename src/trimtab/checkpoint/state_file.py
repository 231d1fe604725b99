"""The plain numbers of a run as `state.json`, and back without loss."""

import dataclasses
import json
from typing import Any

from pydantic import TypeAdapter, ValidationError

from trimtab.types import TrainState

MAX_BYTES = 16 * 2**20
"""No honest state comes near; a larger one is not read at all. As lists it takes some twenty times its size."""

_STATE = TypeAdapter(TrainState)
_NAMES = {field.name for field in dataclasses.fields(TrainState)}
_WHERE_THERE_IS_SOME = {"origin"}
"""Left out where it is empty, as versions before it wrote."""


def render_state(state: TrainState) -> bytes:
    """JSON that gives the same state back, number for number; numbers that are not finite are kept as such."""
    fields = dataclasses.asdict(state)
    fields = {name: fields[name] for name in fields if fields[name] or name not in _WHERE_THERE_IS_SOME}
    _assert_plain(fields)
    return (json.dumps(fields, sort_keys=True, indent=1) + "\n").encode("ascii")


def parse_state(content: bytes) -> TrainState:
    """The state; raises ValueError if it is not one, with a reason that follows the name of the file."""
    if len(content) > MAX_BYTES:
        raise ValueError(f"has more than {MAX_BYTES} bytes")
    try:
        fields = json.loads(content)
    except (ValueError, RecursionError):
        raise ValueError("is not JSON") from None
    if not isinstance(fields, dict) or {*fields, *_WHERE_THERE_IS_SOME} != _NAMES:
        raise ValueError("does not have the fields of a training state")
    try:
        state = _STATE.validate_json(content, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise ValueError(f"has a wrong value: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    for name in sorted(_NAMES):
        value = getattr(state, name)
        if isinstance(value, int) and not 0 <= value < 2**63:
            raise ValueError(f"has a wrong value: {name}: is no count")
    return state


def _assert_plain(value: Any) -> None:
    """JSON would quietly turn tuples into lists and whole-number keys into text; a resumed run would differ."""
    if isinstance(value, dict):
        for key, item in value.items():
            assert type(key) is str, f"{key!r}: keys of a training state are text"
            _assert_plain(item)
    elif isinstance(value, list):
        for item in value:
            _assert_plain(item)
    else:
        assert value is None or type(value) in (str, int, float, bool), f"{value!r} is not plain data"
