import pytest
import torch
import torch.nn.functional as F

from tests.model.test_encoder_decoder import SOURCES, TARGETS, build
from tests.streams import pack_of
from trimtab.training import gradient_flow as probe
from trimtab.training.gradient_flow import gradient_flow, needed_bytes

PACK = pack_of(SOURCES, TARGETS)


def test_it_is_the_gradient_of_the_mean_loss_and_leaves_those_of_the_run():
    model = build().eval()
    with torch.no_grad():
        found = gradient_flow(model, PACK)
    assert all(each.grad is None for each in model.parameters())
    F.cross_entropy(model.logits(model(PACK)), PACK.labels).backward()
    wanted = {name: float(each.grad.square().mean().sqrt()) for name, each in model.named_parameters()}
    assert found == pytest.approx(wanted, rel=1e-4, abs=1e-9)


def test_a_weight_behind_a_zero_gets_nothing_and_a_frozen_one_is_left_out():
    model = build().eval()
    model.decoder.blocks[0].feed_forward.down.weight.data.zero_()
    model.encoder.blocks[0].attention.qkv.weight.requires_grad_(False)
    found = gradient_flow(model, PACK)
    assert found["decoder.blocks.0.feed_forward.up.weight"] == 0.0
    assert found["decoder.blocks.0.feed_forward.down.weight"] > 0
    assert "encoder.blocks.0.attention.qkv.weight" not in found


def test_other_modules_and_batches_without_labels_have_none():
    assert gradient_flow(torch.nn.Linear(2, 2), PACK) == {}
    assert gradient_flow(build().eval(), PACK.blank()) == {}


def test_logits_and_layers_count_where_few_weights_are_trained():
    model = build()
    small = {"one": torch.zeros(1)}
    assert needed_bytes(model, PACK, small) > 4 * len(PACK.labels) * (model.num_ids + 4 * model.dim)
    assert needed_bytes(model, PACK, {"one": torch.zeros(1001)}) - needed_bytes(model, PACK, small) == 12000


def test_a_gpu_without_room_ends_no_run(monkeypatch):
    def full(*given):
        raise torch.OutOfMemoryError

    model = build().eval()
    monkeypatch.setattr(probe, "mean_loss", full)
    assert gradient_flow(model, PACK) == {}
    monkeypatch.setattr(probe, "has_free_memory", lambda needed, device: False)
    monkeypatch.setattr(probe, "mean_loss", None)
    assert gradient_flow(model, PACK) == {}


def test_gradients_in_float16_are_left_out_since_they_would_round_to_zero():
    model = build().eval()
    with torch.autocast("cpu", torch.bfloat16):
        assert gradient_flow(model, PACK)
    with torch.autocast("cpu", torch.float16):
        assert gradient_flow(model, PACK) == {}
    assert gradient_flow(model.half_precision_copy(torch.float16), PACK) == {}
    assert gradient_flow(model.half_precision_copy(torch.bfloat16), PACK)


def test_a_copy_without_trained_weights_has_none():
    """As evaluations of a model that is divided among ranks score."""
    assert gradient_flow(build().eval().requires_grad_(False), PACK) == {}
