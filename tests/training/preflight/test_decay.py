import pytest
import torch

from tests.faults.mutation import put_bug
from tests.optimizer_kinds import OPTIMIZERS
from trimtab.step.groups import parameter_groups
from trimtab.training.preflight.decay import decay_where_it_belongs

RULE = "parameter.ndim >= 2 and id(parameter) not in embeddings"


def message(parts):
    findings = list(decay_where_it_belongs(parts))
    assert [(each.code, each.severity) for each in findings] == [("S209", "error")] * len(findings)
    return "".join(each.message for each in findings)


@pytest.mark.quick(
    "AdamW-0.0", "Adafactor-1e-08", "StableAdamW-1e-08", "Lion-0.0001", "SGD-0.1", "AdEMAMix-0.1", "Muon-10.0"
)
@pytest.mark.parametrize("decay", [0.0, 1e-8, 1e-4, 0.1, 10.0])
@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_decay_of_every_optimizer_and_size_is_well(parts_with, kind, decay):
    parts = parts_with(step={"optimizer": kind(weight_decay=decay), "weight_clip": 1.0})
    before = {name: each.clone() for name, each in parts.model.named_parameters()}
    assert message(parts) == ""
    assert all(torch.equal(before[name], each) for name, each in parts.model.named_parameters())


RATES = [{"hidden": 1e-4}, {"hidden": 1e4}, {"hidden": 0.25, "vector": 1e4, "embedding": 1e-4}]


@pytest.mark.quick(
    "AdamW-{'hidden': 0.0001}-0.0",
    "AdamW-{'hidden': 0.25, 'vector': 10000.0, 'embedding': 0.0001}-0.1",
    "Adafactor-{'hidden': 0.25, 'vector': 10000.0, 'embedding': 0.0001}-0.0",
    "StableAdamW-{'hidden': 10000.0}-0.1",
    "Lion-{'hidden': 10000.0}-0.0",
    "SGD-{'hidden': 10000.0}-0.0",
    "AdEMAMix-{'hidden': 0.0001}-0.1",
    "Muon-{'hidden': 0.0001}-0.0",
    "Muon-{'hidden': 0.25, 'vector': 10000.0, 'embedding': 0.0001}-0.1",
)
@pytest.mark.parametrize(
    "decay",
    [0.0, pytest.param(1e-4, marks=pytest.mark.slow), 0.1, pytest.param(10.0, marks=pytest.mark.slow)],
)
@pytest.mark.parametrize("rates", RATES, ids=str)
@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_decay_is_well_with_rates_by_role_and_missed_where_it_lacks(
    parts_with, monkeypatch, kind, rates, decay
):
    optimizer = kind(weight_decay=decay, learning_rate_multipliers=rates)
    assert message(parts_with(step={"optimizer": optimizer})) == ""
    put_bug(monkeypatch, parameter_groups, (RULE, "False"))
    lacks = "takes nothing from decoder.blocks.0.attention.out.weight" in message(
        parts_with(step={"optimizer": optimizer})
    )
    assert lacks == (decay > 0)


@pytest.mark.parametrize("kind", OPTIMIZERS)
@pytest.mark.parametrize(
    ("rule", "named"),
    [
        ("True", "decoder.blocks.0.attention.out.bias"),
        ("parameter.ndim >= 2", "takes from embedding.weight"),
        ("id(parameter) not in embeddings", "decoder.blocks.0.attention.out.bias"),
        ("False", "takes nothing from decoder.blocks.0.attention.out.weight"),
    ],
)
def test_decay_of_other_weights_and_missing_decay_are_found(parts_with, monkeypatch, kind, rule, named):
    put_bug(monkeypatch, parameter_groups, (RULE, rule))
    assert named in message(parts_with(step={"optimizer": kind(weight_decay=0.1)}))


def test_the_decay_that_a_library_adds_by_itself_is_found(parts):
    optimizer = parts.stepper.optimizer
    # The default of torch.optim.AdamW.
    optimizer.groups = [group._replace(weight_decay=0.01) for group in optimizer.groups]
    assert "weight decay (0) takes from" in message(parts)
