"""What only a GPU can show: the checks in half precision, on packs of one shape, through compiled blocks."""

import pytest
import torch

from trimtab.flow import TrainState
from trimtab.training.preflight import every_check, preflight
from trimtab.training.validate import loss_of

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]


@pytest.mark.parametrize("compile", ["off", "on"])
def test_nothing_is_found_in_a_healthy_run_on_a_gpu(parts_with, compile):
    parts = parts_with(step={"compile": compile, "precision": "auto"})
    assert parts.device.type == "cuda"
    drawn = torch.cuda.get_rng_state(parts.device)
    assert [str(each) for each in preflight(parts)] == []
    assert torch.equal(torch.cuda.get_rng_state(parts.device), drawn)


@pytest.mark.parametrize("check", every_check.OF_THE_MODEL, ids=lambda each: each.__name__)
def test_no_check_asks_for_a_shape_that_was_not_compiled(parts_with, check):
    parts = parts_with(step={"compile": "on", "precision": "auto"})
    list(preflight(parts))
    torch._dynamo.utils.counters.clear()
    every_check.told(check, parts)
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 0


@pytest.mark.parametrize("dropout", [0.0, 0.1])
def test_after_the_checks_neither_a_step_nor_an_evaluation_compiles_anything(parts_with, dropout):
    torch._dynamo.reset()
    parts = parts_with(model={"dropout": dropout}, step={"compile": "on", "precision": "auto"})
    torch._dynamo.utils.counters.clear()
    assert [str(each) for each in preflight(parts)] == []
    compiled = torch._dynamo.utils.counters["stats"]["unique_graphs"]
    parts.begin(TrainState())
    stream = parts.windows(0)
    parts.take_step(next(stream)[1], learning_rate=1e-3)
    stream.close()
    loss_of(parts, parts.fast_copy().eval(), next(iter(parts.valid().values())))
    blocks_and_loss = 3
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == compiled == blocks_and_loss
