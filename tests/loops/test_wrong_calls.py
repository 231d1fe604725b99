"""Every public part says what is wrong as the command line does: what, got, allowed, fix."""

import ast
import json
from pathlib import Path

import pytest

from tests.children import printed
from trimtab import parts

CALLS = Path(__file__).parent / "wrong_calls.py"
NAMES = [
    ast.literal_eval(key)
    for node in ast.walk(ast.parse(CALLS.read_text(encoding="utf-8")))
    if isinstance(node, ast.Dict)
    for key in node.keys
    if isinstance(key, ast.Constant) and ": " in str(key.value)
]


def called() -> None:
    from tests.loops.wrong_calls import outcomes

    print(json.dumps(outcomes()))


@pytest.fixture(scope="module")
def said():
    return json.loads(printed(called))


@pytest.mark.parametrize("name", NAMES)
def test_a_wrong_call_is_refused_with_what_got_allowed_and_fix(said, name):
    kind, message = said[name]
    assert kind == "InputError", message
    lines = message.splitlines()
    assert lines[0].startswith(name.split(":")[0])
    assert [line[:10] for line in lines[1:4]] == ["  got     ", "  allowed ", "  fix     "]


def test_every_part_is_called_wrongly_at_least_once():
    called = {name.split(":")[0].split(".")[0] for name in NAMES}
    assert set(parts.HOMES) - called == set()
