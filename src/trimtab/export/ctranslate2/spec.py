"""The weights of a model as a specification of CTranslate2, which the library writes to `model.bin`."""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from trimtab.config.model import ModelConfig
from trimtab.model.block import CrossAttention, DecoderBlock, EncoderBlock, SelfAttention
from trimtab.model.encoder_decoder import EncoderDecoder, Stack
from trimtab.model.feed_forward import GATED, FeedForward
from trimtab.model.positions.kind import Positions

ACTIVATIONS = {
    "relu": "RELU",
    "gelu": "GELU",
    "geglu": "GELU",
    "silu": "SWISH",
    "swish": "SWISH",
    "swiglu": "SWISH",
}
"""The name in CTranslate2 of each activation. `GELU` is the exact one there, `GELUTanh` its approximation."""


def model_spec(model: EncoderDecoder, *, num_source_ids: int) -> Any:
    """A `TransformerSpec` with a copy of every weight; vocabularies and settings are still to be set.

    Copies, since the library scales what it quantises where it lies. The tables of positions are always written: where
    there is none the library makes sines of its own, which begin at 1 and are spaced otherwise.
    """
    from ctranslate2.specs import TransformerSpec
    from ctranslate2.specs.transformer_spec import TransformerDecoderSpec, TransformerEncoderSpec

    config = model.config
    encoder = TransformerEncoderSpec(config.encoder_layers, config.encoder.heads, **_shape(config, "encoder"))
    decoder = TransformerDecoderSpec(config.decoder_layers, config.decoder.heads, **_shape(config, "decoder"))
    source = model.embedding if model.source_embedding is None else model.source_embedding
    encoder.embeddings[0].weight = _copy(source.weight[:num_source_ids])
    decoder.embeddings.weight = _copy(model.embedding.weight[: model.num_ids])
    decoder.projection.weight = _copy(model.output_matrix[: model.num_ids])
    _positions(encoder, model, model.source_positions)
    _positions(decoder, model, model.target_positions)
    _stack(encoder, model.encoder)
    _stack(decoder, model.decoder)
    return TransformerSpec(encoder, decoder)


def _shape(config: ModelConfig, side: str) -> dict[str, Any]:
    """What both kinds of stack have in the specification."""
    from ctranslate2.specs.common_spec import Activation

    own = config.encoder if side == "encoder" else config.decoder
    positions = config.source_position_settings if side == "encoder" else config.target_position_settings
    shape: dict[str, Any] = {
        "pre_norm": config.norm_position == "before",
        "activation": Activation[ACTIVATIONS[config.activation]],
        "ffn_glu": config.activation in GATED,
        "rms_norm": config.norm == "rms",
        "num_heads_kv": own.kv_heads,
    }
    if positions.rotates:
        # 0 stands for the whole head; its pairs are half a head apart.
        shape.update(rotary_dim=0, rotary_interleave=False, rotary_base=10000.0)
    return shape


def _positions(side: Any, model: EncoderDecoder, positions: Positions) -> None:
    """What is added to the embeddings at each place; nothing where queries and keys are rotated."""
    if positions.rotary_table() is None:
        table = positions.table()
        table = torch.zeros(model.max_positions, model.config.dim) if table is None else table
        side.position_encodings.encodings = _copy(table)
    elif hasattr(side, "position_encodings"):
        del side.position_encodings


def _stack(side: Any, stack: Stack) -> None:
    for layer, block in zip(side.layer, stack.blocks, strict=True):
        assert isinstance(block, EncoderBlock | DecoderBlock)
        _norm(layer.self_attention.layer_norm, block.norm_attention)
        _attention(layer.self_attention, block.attention)
        if isinstance(block, DecoderBlock):
            _norm(layer.attention.layer_norm, block.norm_cross)
            _attention(layer.attention, block.cross)
        _norm(layer.ffn.layer_norm, block.norm_feed_forward)
        _feed_forward(layer.ffn, block.feed_forward)
    if not isinstance(stack.norm, nn.Identity):
        _norm(side.layer_norm, stack.norm)


def _attention(spec: Any, attention: SelfAttention | CrossAttention) -> None:
    """The maps into the attention, fused as they are in the model, and the one out of it."""
    fused = [attention.qkv] if isinstance(attention, SelfAttention) else [attention.q, attention.kv]
    for linear, own in zip(spec.linear, [*fused, attention.out], strict=True):
        _linear(linear, own.weight, own.bias)


def _feed_forward(spec: Any, block: FeedForward) -> None:
    """With a gate the first half of the rows goes through the activation, the second half does not."""
    weight, bias = block.up.weight, block.up.bias
    if block.activation in GATED:
        biases = (None, None) if bias is None else bias.chunk(2)
        gate, up = weight.chunk(2)
        _linear(spec.linear_0, gate, biases[0])
        _linear(spec.linear_0_noact, up, biases[1])
    else:
        _linear(spec.linear_0, weight, bias)
    _linear(spec.linear_1, block.down.weight, block.down.bias)


def _linear(spec: Any, weight: Tensor, bias: Tensor | None) -> None:
    spec.weight = _copy(weight)
    if bias is not None:
        spec.bias = _copy(bias)


def _norm(spec: Any, norm: nn.Module) -> None:
    assert isinstance(norm, nn.LayerNorm | nn.RMSNorm)
    spec.gamma = _copy(norm.weight)
    if isinstance(norm, nn.LayerNorm):
        spec.beta = _copy(norm.bias)


def _copy(tensor: Tensor) -> np.ndarray:
    """An array of its own."""
    return np.array(tensor.detach().float().cpu().numpy(), dtype=np.float32, order="C", copy=True)
