import pytest
import torch

from tests.small_run import small_parts
from trimtab.training.trace import non_finite_traced, trace


@pytest.fixture
def parts(tmp_path):
    return small_parts(tmp_path, **{"model.dropout": 0.2})


def first_window(parts):
    return next(iter(parts.stream.host_batches(0)))[0]


def test_a_healthy_window_has_nothing_to_trace_and_is_left_as_it_was(parts):
    random_state = torch.get_rng_state()
    assert trace(parts, first_window(parts), step=1) is None
    assert torch.equal(torch.get_rng_state(), random_state)
    assert all(parameter.grad is None for parameter in parts.model.parameters())


def test_the_module_that_made_it_is_named(parts):
    module = parts.model.decoder.blocks[0].feed_forward
    module.register_forward_hook(lambda module, inputs, output: output * float("inf"))
    found = trace(parts, first_window(parts), step=1)
    assert (found.place, found.name) == ("forward", "decoder.blocks.0.feed_forward")
    finding = non_finite_traced(found, step=1)
    assert (finding.code, finding.where) == ("S910", "decoder.blocks.0.feed_forward")
    assert finding.message == f"step 1: {found}"
    assert "decoder.blocks.0.feed_forward" in finding.message


def test_a_weight_that_is_not_finite_is_named(parts):
    name, parameter = next(iter(parts.model.named_parameters()))
    with torch.no_grad():
        parameter.view(-1)[3] = float("nan")
    found = trace(parts, first_window(parts), step=1)
    assert (found.place, found.name, found.count) == ("parameter", name, 1)


def test_what_only_the_dropout_of_one_step_brings_about_is_found_in_its_pack(parts, monkeypatch):
    """The packs run in their order with the step's own random numbers, as in training."""
    window, packs = next(iter(parts.stream.host_batches(0)))
    assert len(packs) == 2
    parts.stepper.reseed(6)
    healthy = parts.stepper.objective
    seen = []
    for pack in packs:
        healthy(pack)
        seen.append(torch.get_rng_state())

    def objective(pack):
        out = healthy(pack)
        if torch.equal(torch.get_rng_state(), seen[1]):
            return type(out)(out.objective * float("nan"), out.loss)
        return out

    monkeypatch.setattr(parts.stepper, "objective", objective)
    assert trace(parts, window, step=7).place == "loss"
    assert trace(parts, window, step=8) is None
