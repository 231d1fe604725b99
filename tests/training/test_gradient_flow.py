import pytest
import torch
import torch.nn.functional as F

from tests.model.test_encoder_decoder import SOURCES, TARGETS, build
from tests.streams import pack_of
from trimtab.training.gradient_flow import gradient_flow

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
