import itertools

import pytest
import torch

from tests.small_run import small_parts
from trimtab.replaying.rerun import copy_of, is_finite, measure, recorded, recorded_steps, take, was_skipped
from trimtab.types import LossOutput, TrainState


@pytest.fixture
def parts(tmp_path):
    return small_parts(tmp_path, **{"model.dropout": 0.2})


def first(parts, count, records=None):
    return list(itertools.islice(recorded_steps(parts, TrainState(), records or {}), count))


def test_stations_are_the_windows_of_the_run_with_the_state_before_each(parts):
    found = first(parts, 4, {2: {"seconds": 7.5}})
    assert [each.step for each in found] == [1, 2, 3, 4]
    windows = [window for window, _ in itertools.islice(parts.stream.host_batches(0), 4)]
    assert [each.window.position for each in found] == [window.position for window in windows]
    assert [each.before.position for each in found] == [0, *(window.position for window in windows[:3])]
    assert found[3].before.target_tokens == sum(window.num_targets for window in windows[:3])
    assert [each.before.seconds for each in found] == [0.0, 0.0, 7.5, 7.5]


def test_measuring_moves_nothing_and_gives_what_the_step_gives(parts):
    _, station = first(parts, 2)
    before = copy_of(parts)
    found = measure(parts, station)
    assert all(torch.equal(tensor, before[name]) for name, tensor in parts.model.state_dict().items())
    assert all(parameter.grad is None for parameter in parts.model.parameters())
    report = take(parts, station, {})
    assert found == (type(found))(float(report.loss), float(report.grad_norm))
    assert any(not torch.equal(tensor, before[name]) for name, tensor in parts.model.state_dict().items())


def moved(parts, station, line):
    before = copy_of(parts)
    take(parts, station, {station.step: line})
    return any(not torch.equal(tensor, before[name]) for name, tensor in parts.model.state_dict().items())


def test_the_rate_and_the_verdict_are_those_that_were_written_down(parts):
    (station,) = first(parts, 1)
    healthy = {"loss": 4.0, "grad_norm": 1.0, "skipped": False, "learning_rate": 1e-3}
    assert not moved(parts, station, {**healthy, "skipped": True})
    assert not moved(parts, station, {**healthy, "learning_rate": 0.0})
    assert moved(parts, station, healthy)


def test_a_step_that_the_guard_would_refuse_but_the_run_did_not_is_taken(parts):
    """The run may have learned another level since."""
    (station,) = first(parts, 1)
    rings = {"losses": [0.1] * 64, "log_norms": [-9.0] * 64}
    parts.stepper.gate.from_dict(rings)
    line = {"loss": 4.0, "grad_norm": 1.0, "skipped": False}
    before = copy_of(parts)
    take(parts, station, {})
    assert all(torch.equal(tensor, before[name]) for name, tensor in parts.model.state_dict().items())
    assert moved(parts, station, line)


@pytest.mark.slow
def test_the_guard_remembers_what_it_was_not_asked_about(parts):
    """Of later steps nothing may be written down, and then it judges them."""
    parts.stepper.gate.forget()
    measures = []
    for station in first(parts, 4):
        line = {"loss": 4.0, "grad_norm": 1.0, "skipped": station.step == 3}
        report = take(parts, station, {station.step: line})
        measures += [float(report.loss)] if station.step != 3 else []
    assert parts.stepper.gate.to_dict()["losses"] == measures
    broken = {"loss": "nan", "grad_norm": "nan", "skipped": True}
    parts.stepper.objective = lambda pack, healthy=parts.stepper.objective: _times(
        healthy(pack), float("nan")
    )
    take(parts, station, {station.step: broken})
    assert parts.stepper.gate.to_dict()["losses"] == measures


def _times(output, factor):
    return LossOutput(output.objective * factor, output.loss * factor)


def test_a_line_of_the_metrics_is_read_with_the_words_for_what_is_no_number():
    assert not is_finite({"loss": "nan", "grad_norm": "inf"})
    assert is_finite({"loss": 1.5, "grad_norm": 2})
    assert recorded({"loss": 1.5}) is None
    assert was_skipped({"skipped": True, "refused": "loss_spike"})
    assert not any(was_skipped({"skipped": True, "refused": name}) for name in ("masked", "overflow"))
    assert not was_skipped({})
    assert recorded({"loss": "many", "grad_norm": 1.0}) is None
