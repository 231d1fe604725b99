import copy
from functools import partial

import pytest
import torch
from torch.utils.checkpoint import checkpoint

from tests.for_each import for_each
from trimtab.config.adapter import LoraAdapter
from trimtab.config.decoder_model import DecoderModel
from trimtab.config.model import EncoderDecoderModel
from trimtab.errors import InputError
from trimtab.export.trainer import row_logits
from trimtab.model.decoder_only import DecoderOnly
from trimtab.model.encoder_decoder import EncoderDecoder
from trimtab.model.lora import (
    adapted_maps,
    add_lora,
    begin_adapter,
    checkpoint_weights,
    described,
    load_checkpoint_weights,
    narrow_frozen,
    weight_of,
    without_adapter,
)

ROWS = [[1, 5, 9, 13, 2, 30], [7, 3]]


def decoder(**changes):
    shape = {"dim": 32, "heads": 4, "kv_heads": 2, "layers": 2, "feed_forward": 48, **changes}
    return DecoderOnly(DecoderModel(**shape), num_ids=40, max_positions=16, seed=1).eval()


def adapted(**given):
    model = decoder()
    add_lora(model, LoraAdapter(**{"rank": 4, "alpha": 8, **given}), seed=3)
    return model


def filled(model):
    """The model as after some training."""
    generator = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for name in sorted(model.begins_zero):
            weight = model.get_parameter(name)
            weight.copy_(torch.randn(weight.shape, generator=generator) * 0.1)
    return model


def logits(model):
    return torch.cat(row_logits(model, ROWS)).detach()


def test_an_adapter_changes_nothing_at_first_and_trains_alone():
    model = adapted()
    assert torch.equal(logits(model), logits(decoder()))
    trained = {name for name, weight in model.named_parameters() if weight.requires_grad}
    assert trained
    assert all(".lora_" in name for name in trained)
    assert model.frozen == {name for name, _ in decoder().named_parameters()}
    assert all(not model.get_parameter(name).any() for name in model.begins_zero)


@for_each(
    "given",
    [
        {},
        {"targets": ("q_proj", "v_proj", "up_proj")},
        {"rslora": True},
        {"dora": True},
        {"dora": True, "targets": ("q_proj", "v_proj", "up_proj")},
    ],
)
def test_the_merged_matrices_compute_the_same(given):
    model = filled(adapted(**given))
    plain = decoder()
    wanted = logits(model)
    assert (wanted - logits(plain)).abs().max() > 1e-3
    with torch.no_grad():
        for each in adapted_maps(model):
            plain.get_submodule(each.name).weight.copy_(weight_of(each.linear))
    torch.testing.assert_close(logits(plain), wanted, atol=1e-5, rtol=1e-5)


def test_a_fused_map_is_that_of_its_parts_one_by_one():
    """The slow twin: each part by the formula of the paper."""
    model = filled(adapted())
    fused = model.decoder.blocks[0].attention.qkv
    x = torch.randn(5, 32)
    first = fused.lora_a.weight.split(4)
    parts = [2.0 * (x @ a.T) @ b.weight.T for a, b in zip(first, fused.lora_b, strict=True)]
    torch.testing.assert_close(fused(x), x @ fused.weight.T + torch.cat(parts, 1))


def test_dora_is_the_formula_of_its_paper():
    """The slow twin: equation 5, the whole matrix divided by the lengths of its rows."""
    model = filled(adapted(dora=True, targets=("q_proj", "v_proj")))
    fused = model.decoder.blocks[0].attention.qkv
    with torch.no_grad():
        fused.magnitude.mul_(torch.linspace(0.5, 1.5, len(fused.magnitude)))
    x, a = torch.randn(5, 32), fused.lora_a.weight.split(4)
    whole = fused.weight.detach().clone()
    for rows, number in ((slice(0, 32), 0), (slice(48, 64), 1)):
        changed = fused.weight[rows] + 2.0 * fused.lora_b[number].weight @ a[number]
        lengths = fused.magnitude[:32] if number == 0 else fused.magnitude[32:]
        whole[rows] = lengths.unsqueeze(1) * changed / changed.norm(dim=1, keepdim=True)
    torch.testing.assert_close(fused(x), x @ whole.T, atol=1e-5, rtol=1e-5)


def test_dora_begins_with_the_lengths_of_the_weights_that_are_loaded_behind_it():
    model = adapted(dora=True)
    with torch.no_grad():
        for block in model.blocks:
            block.attention.out.weight.mul_(3)
    assert (logits(model) - _of_base(model)).abs().max() > 1e-3
    begin_adapter(model)
    assert torch.equal(logits(model), _of_base(model))


def _of_base(model):
    with without_adapter(model):
        return logits(model)


def test_one_base_serves_several_adapters_without_a_copy_of_its_weights():
    base = decoder()
    one, other = (copy.deepcopy(base, {id(each): each for each in base.parameters()}) for _ in range(2))
    add_lora(one, LoraAdapter(rank=4), seed=1)
    add_lora(other, LoraAdapter(rank=2, dora=True), seed=2)
    assert one.embedding.weight is other.embedding.weight is base.embedding.weight
    filled(one)
    assert torch.equal(logits(base), logits(other))
    assert not torch.equal(logits(base), logits(one))


def test_embeddings_are_trained_in_full_and_stay_tied():
    model = filled(adapted(embeddings="train"))
    assert "embedding.weight" in checkpoint_weights(model)
    assert not model.wrongly_tied()
    torch.cat(row_logits(model, ROWS)).square().mean().backward()
    assert model.embedding.weight.grad.abs().sum(1).gt(0)[:40].all(), "rows of the output that no text has"


def test_a_head_that_aligns_is_read_with_its_adapter():
    config = EncoderDecoderModel(preset="tiny", encoder_layers=1, decoder_layers=1)
    model = EncoderDecoder(config, num_ids=40, num_source_ids=40, max_positions=16, seed=1)
    add_lora(model, LoraAdapter(rank=2), seed=1)
    cross = filled(model).decoder.blocks[0].cross
    x, memory = torch.randn(3, config.dim), torch.randn(4, config.dim)
    queries, keys = cross.of_head(x, memory, head=1)
    torch.testing.assert_close(queries, cross.q(x)[:, cross.size : 2 * cross.size])
    torch.testing.assert_close(keys, cross.keys_values(memory)[0][:, 1])


@pytest.mark.parametrize("given", [{}, {"dora": True}, {"embeddings": "train"}])
def test_gradients_arrive_where_blocks_are_computed_again(given):
    """Hazard: reentrant recomputation over frozen embeddings gives adapters no gradient; the other kind does."""
    model, twin = (filled(adapted(**given)).train() for _ in range(2))
    for block in model.blocks:
        inner = block.forward
        block.forward = partial(checkpoint, inner, use_reentrant=False)
    for each in (model, twin):
        torch.cat(row_logits(each, ROWS)).square().mean().backward()
    for (name, one), other in zip(model.named_parameters(), twin.parameters(), strict=True):
        assert (one.grad is None) == (not one.requires_grad), name
        if one.grad is not None:
            torch.testing.assert_close(one.grad, other.grad, msg=name)


@pytest.mark.slow
def test_frozen_weights_get_no_gradient():
    model = filled(adapted())
    torch.cat(row_logits(model, ROWS)).sum().backward()
    assert {name for name, weight in model.named_parameters() if weight.grad is not None} == {
        name for name, weight in model.named_parameters() if weight.requires_grad
    }


def test_a_checkpoint_holds_the_adapter_alone_and_brings_it_back():
    model, other = filled(adapted()), adapted()
    saved = checkpoint_weights(model)
    assert all(".lora_" in name for name in saved)
    load_checkpoint_weights(other, saved)
    assert torch.equal(logits(other), logits(model))
    with pytest.raises(RuntimeError):
        load_checkpoint_weights(other, {name: saved[name] for name in list(saved)[1:]})
    assert checkpoint_weights(decoder()).keys() == decoder().state_dict().keys()


def test_the_first_matrices_follow_from_the_seed():
    one, same = adapted(), adapted()
    assert all(torch.equal(one.state_dict()[name], each) for name, each in same.state_dict().items())


def test_translators_have_adapters_on_both_sides():
    config = EncoderDecoderModel(preset="tiny", encoder_layers=1, decoder_layers=1)
    model = EncoderDecoder(config, num_ids=40, num_source_ids=40, max_positions=16, seed=1)
    add_lora(model, LoraAdapter(rank=2, targets=("q_proj", "k_proj")), seed=1)
    assert [each.name for each in adapted_maps(model)] == [
        "encoder.blocks.0.attention.qkv",
        "decoder.blocks.0.attention.qkv",
        "decoder.blocks.0.cross.q",
        "decoder.blocks.0.cross.kv",
    ]
    with pytest.raises(InputError, match="the model has no such maps"):
        add_lora(model, LoraAdapter(rank=2, targets=("gate_proj",)), seed=1)


def test_frozen_matrices_may_be_narrow_and_norms_are_not():
    model = adapted()
    narrow_frozen(model, torch.bfloat16)
    kinds = {name: weight.dtype for name, weight in model.named_parameters()}
    assert kinds["embedding.weight"] == kinds["decoder.blocks.0.attention.qkv.weight"] == torch.bfloat16
    assert (
        kinds["decoder.norm.weight"] == kinds["decoder.blocks.0.attention.qkv.lora_a.weight"] == torch.float32
    )


def test_what_is_trained_is_said():
    assert described(adapted(), LoraAdapter(rank=4, alpha=8)).startswith(
        "LoRA of rank 4 on 14 maps, times 2: "
    )


@pytest.mark.gpu
def test_a_block_with_adapters_is_one_graph():
    model = filled(adapted(targets=("q_proj", "v_proj", "down_proj"))).cuda()
    wanted = logits(model)
    for block in model.blocks:
        block.compile(fullgraph=True)
    found = torch.cat(row_logits(model, ROWS))
    found.sum().backward()
    torch.testing.assert_close(found.detach(), wanted)
    assert all(weight.grad is not None for weight in model.parameters() if weight.requires_grad)
