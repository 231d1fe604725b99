"""LoRA beside frozen weights that are divided among ranks; layers that are computed again, or compiled."""

import json

import pytest
import torch
import torch.distributed as dist
from torch import nn

from tests.children import printed
from tests.for_each import for_each
from trimtab.config.adapter import LoraAdapter
from trimtab.config.decoder_model import DecoderModel
from trimtab.config.optimizers import AdamW
from trimtab.distributed.sharding import ShardedOptimizer, is_divided, own_part, shard
from trimtab.export.trainer import row_logits
from trimtab.model.decoder_only import DecoderOnly
from trimtab.model.lora import (
    add_lora,
    checkpoint_weights,
    lengths_of_rows,
    load_checkpoint_weights,
    merged_weights,
    narrow_frozen,
)
from trimtab.step.clip.global_norm import clip_global_norm
from trimtab.step.optimizer.build import build_optimizer

ROWS = [[1, 5, 9, 13, 2, 30], [7, 3]]


@pytest.fixture(scope="module")
def one_rank():
    """A group of this process alone; `test_torch_ranks.py` has two."""
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield
    dist.destroy_process_group()


class Training(nn.Module):
    """The summed loss of a few rows."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self):
        logits = torch.cat(row_logits(self.model, ROWS))
        return nn.functional.cross_entropy(logits.float(), logits.argmin(1).detach(), reduction="sum")


def decoder():
    shape = {"dim": 32, "heads": 4, "kv_heads": 2, "layers": 2, "feed_forward": 48, "tie_embeddings": False}
    return DecoderOnly(DecoderModel(**shape), num_ids=40, max_positions=16, seed=1)


def adapted(*, frozen=torch.float32, recompute="none", **given):
    model = decoder()
    add_lora(model, LoraAdapter(**{"rank": 4, "alpha": 8, **given}), seed=3)
    narrow_frozen(model, frozen)
    model.recompute_in_backward(recompute)
    return model


def divided(model):
    training = Training(model)
    sharding = shard(
        training,
        model,
        model.blocks,
        compute=None,
        device=torch.device("cpu"),
        never_narrowed=lengths_of_rows(model),
    )
    return training, sharding


def optimizer_of(model):
    return build_optimizer(AdamW(learning_rate=1e-2), model)


def trained(training, optimizer, *, steps=3):
    norms = []
    for _ in range(steps):
        training().backward()
        norms.append(float(clip_global_norm(optimizer.parameters, at=1.0)[0]))
        optimizer.update(learning_rate=0.01, skip=torch.tensor(False))
        for each in optimizer.parameters:
            each.grad = None
    return norms


@pytest.mark.quick("dora")
@pytest.mark.parametrize(
    "given",
    [
        {},
        {"targets": ("q_proj", "down_proj")},
        {"targets": ("q_proj", "down_proj"), "dora": True, "recompute": "block"},
        {"embeddings": "train", "recompute": "feed_forward"},
    ],
    ids=["all", "some", "dora", "embeddings"],
)
def test_an_adapter_is_trained_as_beside_whole_weights_and_saved_whole(one_rank, given):
    whole, model = adapted(**given), adapted(**given)
    frozen = {name: each.clone() for name, each in whole.state_dict().items() if name in whole.frozen}
    training, sharding = divided(model)
    mine = ShardedOptimizer(sharding, model, optimizer_of)
    assert all(is_divided(model.get_parameter(name)) for name in frozen if "norm" not in name)
    assert trained(training, mine) == pytest.approx(trained(Training(whole), optimizer_of(whole)), rel=1e-5)
    saved = sharding.whole(checkpoint_weights(model), keep=True)
    assert saved.keys() == checkpoint_weights(whole).keys() < whole.state_dict().keys()
    for name, tensor in checkpoint_weights(whole).items():
        torch.testing.assert_close(saved[name], tensor, atol=1e-6, rtol=1e-6)
    for name, tensor in frozen.items():
        assert torch.equal(own_part(model.state_dict()[name]), tensor)
    loaded = adapted(**given)
    load_checkpoint_weights(loaded, saved)
    merged, expected = merged_weights(loaded), merged_weights(whole)
    assert merged.keys() == expected.keys()
    for name, tensor in expected.items():
        torch.testing.assert_close(merged[name], tensor, atol=1e-6, rtol=1e-6)


@pytest.mark.filterwarnings("ignore:Mismatch dtype between input and weight")
def test_frozen_matrices_in_half_precision_are_divided_beside_an_adapter_in_float32(one_rank):
    model = adapted(frozen=torch.bfloat16)
    training, sharding = divided(model)
    trained(training, ShardedOptimizer(sharding, model, optimizer_of))
    matrices = {
        str(each.dtype) for name, each in model.named_parameters() if name in model.frozen and each.ndim == 2
    }
    assert matrices == {"torch.bfloat16"}
    assert {str(each.dtype) for each in checkpoint_weights(model).values()} == {"torch.float32"}


def test_lengths_of_rows_keep_their_precision_in_a_copy_for_evaluations(one_rank):
    model = adapted(dora=True)
    _, sharding = divided(model)
    copied = dict(sharding.plain_copy(model, dtype=torch.bfloat16).named_parameters())
    kinds = {name.rpartition(".")[2]: str(each.dtype) for name, each in copied.items()}
    assert kinds == {"weight": "torch.bfloat16", "magnitude": "torch.float32"}


@for_each("recompute", ["feed_forward", "block"])
def test_layers_that_are_computed_again_learn_as_whole_ones(one_rank, recompute):
    whole, model = decoder(), decoder()
    model.recompute_in_backward(recompute)
    training, sharding = divided(model)
    mine = ShardedOptimizer(sharding, model, optimizer_of)
    assert trained(training, mine) == pytest.approx(trained(Training(whole), optimizer_of(whole)), rel=1e-5)


def compiled_beside_whole():
    """Norms of both, and how many graphs were compiled; in a child, whose calls are not type-checked: the checks cannot
    be compiled."""
    graphs = []

    def backend(graph, inputs):
        graphs.append(graph)
        return graph.forward

    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    whole, model = decoder(), decoder()
    for block in model.blocks:
        block.compile(dynamic=False, backend=backend)
    training, sharding = divided(model)
    mine = trained(training, ShardedOptimizer(sharding, model, optimizer_of))
    print(json.dumps([mine, trained(Training(whole), optimizer_of(whole)), len(graphs)]))


@pytest.mark.slow
def test_compiled_layers_that_are_gathered_learn_as_whole_ones_and_share_one_graph():
    mine, theirs, graphs = json.loads(printed(compiled_beside_whole))
    assert mine == pytest.approx(theirs, rel=1e-5)
    assert graphs == 1
