import pytest
import torch
from torch import nn

from trimtab.config.optimizers import AdamW as AdamWConfig
from trimtab.config.optimizers import Muon as Config
from trimtab.step.optimizer.adamw import AdamW
from trimtab.step.optimizer.muon import Muon, orthogonal

NEVER, ALWAYS = torch.tensor(False), torch.tensor(True)


@pytest.mark.parametrize("shape", [(8, 8), (6, 20), (20, 6)])
def test_singular_values_come_near_one_and_directions_stay(shape):
    x = torch.randn(*shape, generator=torch.Generator().manual_seed(1)).double() * 1e-6
    found = orthogonal(x, iterations=5)
    u, _, v = torch.linalg.svd(x, full_matrices=False)
    inside = u.T @ found @ v.T
    values = inside.diagonal()
    assert float(values.min()) > 0.3
    assert float(values.max()) < 1.3
    torch.testing.assert_close(inside - values.diag(), torch.zeros_like(inside), atol=1e-9, rtol=0)


def test_a_step_is_the_orthogonal_momentum_at_the_size_of_adams():
    torch.manual_seed(0)
    model = nn.Linear(6, 4, bias=False).double()
    before, moment = model.weight.data.clone(), torch.zeros(4, 6).double()
    optimizer = Muon(Config(momentum=0.9, weight_decay=0.1), model)
    for _ in range(3):
        gradient = torch.randn(4, 6).double()
        model.weight.grad = gradient.clone()
        optimizer.update(learning_rate=0.01, skip=NEVER)
        moment = 0.9 * moment + gradient
        ahead = gradient + 0.9 * moment
        y = ahead / ahead.norm()
        for _ in range(5):
            y = 3.4445 * y - 4.7750 * (y @ y.T) @ y + 2.0315 * (y @ y.T) @ (y @ y.T) @ y
        before = before * (1 - 0.01 * 0.1) - 0.01 * 0.2 * 6**0.5 * y
    torch.testing.assert_close(model.weight.data, before)


@pytest.mark.parametrize("nesterov", [True, False])
@pytest.mark.parametrize("shape", [(12, 8), (8, 20)])
def test_matrices_move_as_by_the_muon_of_torch_whose_products_are_bfloat16(shape, nesterov):
    torch.manual_seed(0)
    rows, columns = shape
    ours, theirs = nn.Linear(columns, rows, bias=False), nn.Linear(columns, rows, bias=False)
    theirs.load_state_dict(ours.state_dict())
    first = ours.weight.data.clone()
    own = Muon(Config(momentum=0.9, nesterov=nesterov, weight_decay=0.1), ours)
    other = torch.optim.Muon(
        theirs.parameters(),
        lr=0.01,
        momentum=0.9,
        nesterov=nesterov,
        weight_decay=0.1,
        adjust_lr_fn="match_rms_adamw",
    )
    for _ in range(5):
        gradient = torch.randn(rows, columns)
        ours.weight.grad, theirs.weight.grad = gradient.clone(), gradient.clone()
        own.update(learning_rate=0.01, skip=NEVER)
        other.step()
    moved, wanted = ours.weight.data - first, theirs.weight.data - first
    assert float(torch.cosine_similarity(moved.flatten(), wanted.flatten(), dim=0)) > 0.999
    assert float(moved.norm() / wanted.norm()) == pytest.approx(1.0, abs=0.01)


def test_what_is_no_matrix_is_updated_as_by_adamw():
    def trained(kind, config):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Embedding(5, 4), nn.LayerNorm(4))
        optimizer = kind(config, model)
        for _ in range(6):
            for parameter in model.parameters():
                parameter.grad = torch.randn_like(parameter)
            optimizer.update(learning_rate=0.1, skip=NEVER)
        return [parameter.data for parameter in model.parameters()]

    ours = trained(Muon, Config(betas=(0.9, 0.98), weight_decay=0.1))
    theirs = trained(AdamW, AdamWConfig(betas=(0.9, 0.98), weight_decay=0.1))
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other)


def test_nothing_moves_where_the_step_is_skipped_and_a_gradient_of_zeros_is_no_nan():
    model = nn.Linear(3, 3)
    optimizer, before = Muon(Config(), model), model.weight.data.clone()
    model.weight.grad, model.bias.grad = torch.full((3, 3), torch.nan), torch.zeros(3)
    optimizer.update(learning_rate=0.1, skip=ALWAYS)
    assert torch.equal(model.weight.data, before)
    assert all(bool(state.isfinite().all()) for state in optimizer.state_tensors().values())
    model.weight.grad = torch.zeros(3, 3)
    optimizer.update(learning_rate=0.1, skip=NEVER)
    assert torch.equal(model.weight.data, before)


def test_a_matrix_in_bfloat16_has_one_momentum_in_float32():
    optimizer = Muon(Config(), nn.Linear(3, 3).bfloat16())
    kept = optimizer.state_tensors()
    assert sorted(kept) == ["bias.0", "bias.1", "step", "weight.0"]
    assert {each.dtype for each in kept.values()} == {torch.float32}
