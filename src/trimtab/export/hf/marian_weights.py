"""The weights of a model under the names of Pegasus and MarianMT, which are the same."""

from collections.abc import Iterator
from pathlib import Path

import torch
from jaxtyping import Float
from safetensors.torch import save
from torch import Tensor, nn

from trimtab.export.hf.library import WEIGHTS
from trimtab.model.block import CrossAttention, DecoderBlock, EncoderBlock, SelfAttention
from trimtab.model.encoder_decoder import EncoderDecoder, Stack
from trimtab.model.positions.kind import Positions

Named = Iterator[tuple[str, Tensor]]


def write_weights(model: EncoderDecoder, folder: Path, *, num_source_ids: int) -> None:
    """Writes `model.safetensors`; tied tensors are in it once."""
    named = named_weights(model, num_source_ids=num_source_ids)
    tensors = {name: tensor.detach().float().cpu().contiguous() for name, tensor in named}
    (folder / WEIGHTS).write_bytes(save(tensors, metadata={"format": "pt"}))


def named_weights(model: EncoderDecoder, *, num_source_ids: int) -> Named:
    """Every tensor of the class, by its name there; rows that stand for no id are left out."""
    yield from _embeddings(model, num_source_ids)
    yield "final_logits_bias", torch.zeros(1, model.num_ids)
    for side, positions in (("encoder", model.source_positions), ("decoder", model.target_positions)):
        yield f"model.{side}.embed_positions.weight", position_table(model, positions)
    for side, stack in (("encoder", model.encoder), ("decoder", model.decoder)):
        yield from _stack(stack, f"model.{side}")


def position_table(model: EncoderDecoder, positions: Positions) -> Float[Tensor, "positions dim"]:
    """What is added to the embeddings at each position, zeros where nothing is."""
    table = positions.table()
    return torch.zeros(model.max_positions, model.config.dim) if table is None else table.clone()


def _embeddings(model: EncoderDecoder, num_source_ids: int) -> Named:
    target = model.embedding.weight[: model.num_ids]
    if model.source_embedding is None:
        yield "model.shared.weight", target.clone()
        return
    yield "model.encoder.embed_tokens.weight", model.source_embedding.weight[:num_source_ids].clone()
    yield "model.decoder.embed_tokens.weight", target.clone()
    if model.output is not None:
        yield "lm_head.weight", model.output.weight[: model.num_ids].clone()


def _stack(stack: Stack, name: str) -> Named:
    for number, block in enumerate(stack.blocks):
        assert isinstance(block, EncoderBlock | DecoderBlock)
        prefix = f"{name}.layers.{number}"
        yield from _attention(block.attention, f"{prefix}.self_attn")
        yield from _parts(block.norm_attention, f"{prefix}.self_attn_layer_norm")
        if isinstance(block, DecoderBlock):
            yield from _attention(block.cross, f"{prefix}.encoder_attn")
            yield from _parts(block.norm_cross, f"{prefix}.encoder_attn_layer_norm")
        yield from _parts(block.feed_forward.up, f"{prefix}.fc1")
        yield from _parts(block.feed_forward.down, f"{prefix}.fc2")
        yield from _parts(block.norm_feed_forward, f"{prefix}.final_layer_norm")
    if not isinstance(stack.norm, nn.Identity):
        yield from _parts(stack.norm, f"{name}.layer_norm")


def _parts(module: nn.Module, name: str) -> Named:
    """Weight and bias, zeros where the module has no bias."""
    weight, bias = module.weight, module.bias
    assert isinstance(weight, Tensor)
    yield f"{name}.weight", weight
    yield f"{name}.bias", bias if isinstance(bias, Tensor) else torch.zeros(len(weight))


def _attention(attention: SelfAttention | CrossAttention, name: str) -> Named:
    heads, kept, size = attention.heads, attention.kv_heads, attention.size
    fused = [attention.qkv] if isinstance(attention, SelfAttention) else [attention.q, attention.kv]
    weight = torch.cat([each.weight for each in fused])
    biases = [torch.zeros(each.out_features) if each.bias is None else each.bias for each in fused]
    rows = [heads * size, kept * size, kept * size]
    parts = zip(weight.split(rows), torch.cat(biases).split(rows), strict=True)
    for letter, (matrix, bias) in zip("qkv", parts, strict=True):
        # Head h of the queries uses head h // (heads / kv_heads), so each is repeated where it stands.
        times = 1 if letter == "q" else heads // kept
        yield (
            f"{name}.{letter}_proj.weight",
            matrix.unflatten(0, (-1, size)).repeat_interleave(times, 0).flatten(0, 1),
        )
        yield (
            f"{name}.{letter}_proj.bias",
            bias.unflatten(0, (-1, size)).repeat_interleave(times, 0).flatten(),
        )
    yield from _parts(attention.out, f"{name}.out_proj")
