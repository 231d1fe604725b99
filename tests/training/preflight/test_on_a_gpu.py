"""What only a GPU can show: the checks in half precision, on packs of one shape, through compiled blocks."""

import pytest
import torch

from trimtab.training.preflight import every_check, preflight

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
