import pytest
import torch
import torch.distributed as dist
from torch import nn

from trimtab.config.optimizers import AdamW
from trimtab.config.step import Ema
from trimtab.distributed.sharding import ShardedOptimizer, Sharding, shard
from trimtab.errors import InputError
from trimtab.step.optimizer.build import build_optimizer


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.map = nn.LayerNorm(4), nn.Linear(4, 4)

    def forward(self, x):
        return x + self.map(self.norm(x))


class Tied(nn.Module):
    """A few layers whose output matrix is the embedding."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.embedding = nn.Embedding(6, 4)
        self.blocks = nn.ModuleList([Block(), Block()])
        self.register_buffer("angles", torch.arange(3.0))


class Training(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids):
        x = self.model.embedding(ids)
        for block in self.model.blocks:
            x = block(x)
        return nn.functional.cross_entropy(x @ self.model.embedding.weight.t(), ids.roll(1), reduction="sum")


@pytest.fixture(scope="module")
def one_rank():
    """A group of this process alone; `tests/distributed/test_torch_ranks.py` has two."""
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield
    dist.destroy_process_group()


def divided():
    model = Tied()
    training = Training(model)
    sharding = shard(training, model, [*model.blocks], compute=None, device=torch.device("cpu"))
    return training, model, sharding


def adamw(model):
    return build_optimizer(AdamW(learning_rate=1e-2), model, ema=Ema())


def step(training, optimizer):
    training(torch.arange(6)).backward()
    optimizer.update(learning_rate=0.1, skip=torch.tensor(False))
    for each in optimizer.parameters:
        each.grad = None


def test_a_divided_model_is_trained_as_a_whole_one(one_rank):
    whole, (training, model, sharding) = Tied(), divided()
    plain, mine = adamw(whole), ShardedOptimizer(sharding, model, adamw)
    for _ in range(3):
        step(Training(whole), plain)
        step(training, mine)
    weights = sharding.whole(model.state_dict(), keep=True)
    assert weights.keys() == whole.state_dict().keys()
    for name, tensor in whole.state_dict().items():
        torch.testing.assert_close(weights[name], tensor)
    state = sharding.whole(mine.state_tensors(), keep=True)
    assert state.keys() == plain.state_tensors().keys()
    for name, tensor in plain.state_tensors().items():
        torch.testing.assert_close(state[name], tensor)


def test_what_was_put_together_is_divided_again(one_rank):
    training, model, sharding = divided()
    optimizer = ShardedOptimizer(sharding, model, adamw)
    step(training, optimizer)
    weights = {name: each.clone() for name, each in sharding.whole(model.state_dict(), keep=True).items()}
    moments = {
        name: each.clone() for name, each in sharding.whole(optimizer.state_tensors(), keep=True).items()
    }
    step(training, optimizer)
    then = sharding.whole(model.state_dict(), keep=True)["embedding.weight"].clone()
    other_training, other, other_sharding = divided()
    fresh = ShardedOptimizer(other_sharding, other, adamw)
    other_sharding.load(other.state_dict(), weights)
    fresh.load_state_tensors(moments)
    step(other_training, fresh)
    torch.testing.assert_close(other_sharding.whole(other.state_dict(), keep=True)["embedding.weight"], then)


def test_weights_of_another_model_are_refused(one_rank):
    _, model, sharding = divided()
    weights = sharding.whole(model.state_dict(), keep=True)
    with pytest.raises(RuntimeError, match=r"differ in \['angles'\]"):
        sharding.load(model.state_dict(), {name: each for name, each in weights.items() if name != "angles"})
    with pytest.raises(RuntimeError, match=r"embedding\.weight has shape"):
        sharding.load(model.state_dict(), {**weights, "embedding.weight": torch.zeros(2, 2)})


def test_a_plain_copy_has_the_weights_in_another_precision_and_no_trace_of_ranks(one_rank):
    _, model, sharding = divided()
    copied = sharding.plain_copy(model, dtype=torch.bfloat16, replaced={"blocks.0.map.bias": torch.ones(4)})
    assert type(copied) is Tied
    assert type(copied.blocks[0]) is Block
    assert {each.dtype for each in copied.parameters()} == {torch.bfloat16}
    assert copied.angles.tolist() == [0, 1, 2]
    assert copied.blocks[0].map.bias.tolist() == [1, 1, 1, 1]
    torch.testing.assert_close(copied.embedding.weight.float(), Tied().embedding.weight, atol=1e-2, rtol=1e-2)


def test_after_a_forward_pass_alone_each_rank_is_left_with_its_parts(one_rank):
    training, model, sharding = divided()
    before = [*model.parameters()]
    with torch.no_grad():
        training(torch.arange(6))
    assert any(now is not was for now, was in zip(model.parameters(), before, strict=True))
    sharding.reshard()
    assert all(now is was for now, was in zip(model.parameters(), before, strict=True))


def test_gains_of_norms_stay_whole(one_rank):
    _, model, sharding = divided()
    whole = {name for name, each in model.named_parameters() if not hasattr(each, "full_tensor")}
    assert whole == {f"blocks.{i}.norm.{part}" for i in (0, 1) for part in ("weight", "bias")}
    view = sharding.local_view(model)
    assert type(view.blocks[0]) is Block
    assert [name for name, _ in view.named_parameters()] == [name for name, _ in model.named_parameters()]


@pytest.mark.parametrize("rows", [1, 2, 5, 7])
@pytest.mark.parametrize("world_size", [1, 2, 3, 4])
def test_each_row_belongs_to_one_rank(rows, world_size):
    class Mesh:
        def __init__(self, rank):
            self.rank = rank

        def size(self):
            return world_size

        def get_local_rank(self):
            return self.rank

    tensor = torch.arange(rows * 2.0).reshape(rows, 2)
    parts = []
    for rank in range(world_size):
        sharding = Sharding.__new__(Sharding)
        object.__setattr__(sharding, "mesh", Mesh(rank))
        parts.append(sharding.part_of(tensor))
    assert torch.equal(torch.cat(parts), tensor)


def test_weights_in_half_precision_are_refused(one_rank):
    model = Tied().bfloat16()
    with pytest.raises(InputError, match="trains weights in float32"):
        shard(Training(model), model, [], compute=None, device=torch.device("cpu"))
