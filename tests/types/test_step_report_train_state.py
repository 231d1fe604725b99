import json
from dataclasses import asdict

from trimtab.types import TrainState


def test_a_run_begins_with_nothing_done_and_shares_no_record_with_another():
    state, other = TrainState(), TrainState()
    for record in (state.best, state.data, state.guard):
        record["seen"] = 1
    assert (other.best, other.data, other.guard) == ({}, {}, {})
    assert {value for value in asdict(other).values() if not isinstance(value, dict)} == {0}


def test_it_is_plain_numbers_that_json_keeps():
    state = TrainState(step=3, seconds=0.1, best={"value": 1.5}, guard={"masked": [2]})
    assert TrainState(**json.loads(json.dumps(asdict(state)))) == state
