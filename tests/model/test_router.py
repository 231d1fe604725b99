"""What routers add to the objective, and which tokens they count."""

from dataclasses import replace

import pytest
import torch

from tests.model.test_encoder_decoder import SOURCES, TARGETS, build
from tests.model.test_transformer_parts import language_model
from tests.streams import pack_of
from trimtab.model.mixture_of_depths import depth_loads
from trimtab.model.router import router_losses
from trimtab.types import IGNORE


def test_routers_add_to_the_objective_in_training_alone():
    model, pack = build(experts={"count": 4}), pack_of(SOURCES, TARGETS)
    model.train()(pack)
    added = router_losses(model)
    assert added.item() > 4 * 0.01  # four layers, each at least the factor of its balance
    copied = model.half_precision_copy(torch.bfloat16)
    assert router_losses(copied) is None
    added.backward()
    assert model.encoder.blocks[0].feed_forward.router.weight.grad.any()
    model.eval()(pack)
    assert router_losses(model) is None
    assert router_losses(build()) is None


def test_what_fills_a_pack_up_changes_no_loss_and_no_load_of_depths():
    model = language_model({"mixture_of_depths": {"capacity": 0.4}})
    pack = pack_of(SOURCES, TARGETS)
    filled = pack_of([*SOURCES, [3]], [*TARGETS, [51, 52, 53, 54, 55, 56, 3]])
    labels = filled.labels.clone()
    labels[-7:] = IGNORE
    filled = replace(filled, labels=labels)
    losses, loads = [], []
    for each in (pack, filled):
        model.train()(each)
        losses.append(router_losses(model))
        model.eval()(each)
        loads.append(depth_loads(model))
    torch.testing.assert_close(*losses)
    assert loads[0] == pytest.approx(loads[1])
    assert [*loads[0]] == ["decoder.blocks.1.depths"]
    assert router_losses(model) is None
