import pytest
import torch
from torch import nn

from tests.optimizer_kinds import OPTIMIZERS
from trimtab.config.optimizers import AdamW
from trimtab.step.optimizer.build import build_optimizer
from trimtab.step.optimizer.rounded_adamw import RoundedAdamW


@pytest.mark.parametrize("config", [kind() for kind in OPTIMIZERS], ids=lambda c: c.kind)
def test_the_kind_chooses_the_optimizer_and_it_holds_every_parameter(config):
    model = nn.Linear(3, 2)
    optimizer = build_optimizer(config, model)
    assert type(optimizer).__name__.lower() == config.kind.replace("_", "")
    assert {id(p) for p in optimizer.parameters} == {id(p) for p in model.parameters()}


def test_weights_in_bfloat16_have_an_optimizer_that_rounds_by_chance():
    model = nn.Linear(3, 2).to(torch.bfloat16)
    assert isinstance(build_optimizer(AdamW(), model), RoundedAdamW)
