"""What only a GPU can show: the checks in half precision, on packs of one shape, through compiled blocks."""

import pytest
import torch

from tests.faults.mutation import put_bug
from trimtab.step.optimizer.adamw import AdamW
from trimtab.tasks.text.validation_scores import loss_of
from trimtab.tasks.translation.task import TRANSLATION
from trimtab.training.preflight import every_check, preflight
from trimtab.training.preflight.state_backup import backup, tensors_of
from trimtab.types import TrainState

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("compile", ["off", "on"])
def test_nothing_is_found_in_a_healthy_run_on_a_gpu(parts_with, compile):
    parts = parts_with(step={"compile": compile, "precision": "auto"})
    assert parts.device.type == "cuda"
    drawn = torch.cuda.get_rng_state(parts.device)
    assert [str(each) for each in preflight(parts)] == []
    assert torch.equal(torch.cuda.get_rng_state(parts.device), drawn)


OWN = TRANSLATION.checks


@pytest.mark.parametrize(
    "check", [*every_check.FIRST, *OWN.batches, *every_check.THEN, *OWN.use], ids=lambda each: each.__name__
)
def test_no_check_asks_for_a_shape_that_was_not_compiled(parts_with, check):
    parts = parts_with(step={"compile": "on", "precision": "auto"})
    list(preflight(parts))
    torch._dynamo.utils.counters.clear()
    every_check.run_check(check, parts)
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 0


@pytest.mark.parametrize("dropout", [0.0, 0.1])
def test_after_the_checks_neither_a_step_nor_an_evaluation_compiles_anything(parts_with, dropout):
    torch._dynamo.reset()
    parts = parts_with(model={"dropout": dropout}, step={"compile": "on", "precision": "auto"})
    torch._dynamo.utils.counters.clear()
    assert [str(each) for each in preflight(parts)] == []
    compiled = torch._dynamo.utils.counters["stats"]["unique_graphs"]
    parts.stepper.begin(TrainState())
    stream = parts.stream.batches(0)
    parts.stepper.take_step(next(stream)[1], learning_rate=1e-3)
    stream.close()
    loss_of(parts, parts.evaluation_model.copy().eval(), next(iter(parts.datasets.valid.values())))
    blocks = 2
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == compiled == blocks


THAT_PUT_BACK = (
    every_check.weights_follow_the_rate,
    every_check.skipped_steps_change_nothing,
    every_check.decay_where_it_belongs,
)


@pytest.mark.parametrize("free", [0, 2**60])
def test_weights_are_put_back_bit_for_bit_with_capacity_for_copies_and_without(parts_with, monkeypatch, free):
    parts = parts_with(step={"compile": "off", "precision": "auto"})
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (free, 2**60))
    before = {name: each.clone() for name, each in parts.model.state_dict().items()}
    copies = backup(tensors_of(parts.model))
    assert {each.device.type for each in copies.values()} == {"cuda" if free else "cpu"}
    for check in THAT_PUT_BACK:
        assert [str(each) for each in every_check.run_check(check, parts)] == []
    assert all(torch.equal(before[name], each) for name, each in parts.model.state_dict().items())


@pytest.mark.parametrize("free", [0, 2**60])
def test_what_a_skipped_step_changes_is_found_with_capacity_for_copies_and_without(
    parts_with, monkeypatch, free
):
    parts = parts_with(step={"compile": "off", "precision": "auto"})
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (free, 2**60))
    put_bug(monkeypatch, AdamW.update, ("skip.to(torch.float32)", "skip.to(torch.float32) * 0"))
    found = every_check.run_check(every_check.skipped_steps_change_nothing, parts)
    assert [each.code for each in found] == ["S206"]
