"""The weights of a language model under the names of Llama and Qwen3, which are the same but for the norms of queries
and keys."""

from collections.abc import Iterator
from pathlib import Path

import torch
from safetensors.torch import save
from torch import Tensor, nn

from trimtab.export.hf.library import WEIGHTS
from trimtab.model.block import DecoderBlock, SelfAttention
from trimtab.model.decoder_only import DecoderOnly
from trimtab.model.lora import weight_of

Named = Iterator[tuple[str, Tensor]]


def write_weights(model: DecoderOnly, folder: Path) -> None:
    """Writes `model.safetensors`; tied tensors are in it once."""
    tensors = {name: each.detach().float().cpu().contiguous() for name, each in named_weights(model)}
    (folder / WEIGHTS).write_bytes(save(tensors, metadata={"format": "pt"}))


def named_weights(model: DecoderOnly) -> Named:
    """Every tensor of the class, by its name there; rows that stand for no id are left out."""
    yield "model.embed_tokens.weight", model.embedding.weight[: model.num_ids].clone()
    for number, block in enumerate(model.decoder.blocks):
        assert isinstance(block, DecoderBlock)
        prefix = f"model.layers.{number}"
        yield f"{prefix}.input_layernorm.weight", _weight(block.norm_attention)
        yield from _attention(block.attention, f"{prefix}.self_attn")
        yield f"{prefix}.post_attention_layernorm.weight", _weight(block.norm_feed_forward)
        yield from _feed_forward(block, f"{prefix}.mlp")
    yield "model.norm.weight", _weight(model.decoder.norm)
    if model.output is not None:
        yield "lm_head.weight", model.output.weight[: model.num_ids].clone()


def _attention(attention: SelfAttention, name: str) -> Named:
    rows = [attention.heads * attention.size, *[attention.kv_heads * attention.size] * 2]
    yield from _rows(attention.qkv, rows, [f"{name}.{letter}_proj" for letter in "qkv"])
    yield from _rows(attention.out, [attention.out.out_features], [f"{name}.o_proj"])
    for norm, letter in ((attention.norm_queries, "q"), (attention.norm_keys, "k")):
        if norm is not None:
            yield f"{name}.{letter}_norm.weight", _weight(norm)


def _feed_forward(block: DecoderBlock, name: str) -> Named:
    up, down = block.feed_forward.up, block.feed_forward.down
    yield from _rows(up, [up.out_features // 2] * 2, [f"{name}.gate_proj", f"{name}.up_proj"])
    yield from _rows(down, [down.out_features], [f"{name}.down_proj"])


def _rows(linear: nn.Linear, rows: list[int], names: list[str]) -> Named:
    """Maps that stand one below another in one matrix, each by its own name."""
    for name, matrix in zip(names, weight_of(linear).split(rows), strict=True):
        yield f"{name}.weight", matrix.clone()
    if linear.bias is not None:
        for name, bias in zip(names, linear.bias.split(rows), strict=True):
            yield f"{name}.bias", bias.clone()


def _weight(module: nn.Module) -> Tensor:
    weight = module.weight
    assert isinstance(weight, torch.Tensor)
    return weight
