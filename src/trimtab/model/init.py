"""The first weights, so that every variant trains: small sub-layers beside a large residual path."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from trimtab.config.layer_parts import SUM_WITHOUT_NORM
from trimtab.config.model import ModelConfig
from trimtab.model.block import CrossAttention, SelfAttention
from trimtab.model.experts import MixtureOfExperts, fill_experts, xavier_std
from trimtab.model.feed_forward import GATED, FeedForward
from trimtab.model.norm import SubLayerNorm

FIRST_GAIN = 4.0
"""The logit with which an untrained decoder predicts its own input."""
_left_out: ContextVar[bool] = ContextVar("_left_out", default=False)


@contextmanager
def without_first_weights() -> Iterator[None]:
    """Within the block, new models allocate their weights without initializing them: for callers that load every weight
    from files. Drawing seven billion weights takes a minute, and reading them ten seconds."""
    token = _left_out.set(True)
    try:
        with _NoInit():
            yield
    finally:
        _left_out.reset(token)


def first_weights_are_left_out() -> bool:
    """Whether the caller runs within `without_first_weights`."""
    return _left_out.get()


class _NoInit(TorchFunctionMode):
    """Turns the functions of `torch.nn.init`, which modules call when they are made, into no-ops."""

    def __torch_function__(
        self,
        func: Any,
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        if getattr(func, "__module__", "") == "torch.nn.init":
            return args[0] if args else (kwargs or {})["tensor"]
        return func(*args, **(kwargs or {}))


@torch.no_grad()
def init_weights(model: nn.Module, config: ModelConfig, *, seed: int) -> None:
    """Fills every parameter; the same seed gives the same weights on any device.

    Embeddings have a standard deviation of dim^-1/2 and are multiplied by dim^1/2 on their way in, so the residual
    path starts at 1; each linear map is Xavier-uniform (Glorot and Bengio 2010), fused ones part by part, those of
    keys and values as if they had every head, so that attention begins the same however few they have; where the
    residual path has no norm on it, maps that write to it are divided by the square root of the number of writers
    ("Spike No More", arXiv 2312.16903, section 4), and so is the gain of a norm between them and the path.

    The output matrix is tied to the embedding, so with the norm before, and with `rezero`, where the residual path
    still shows the input, the decoder would begin by predicting its own input with a logit of dim^1/2: a first loss of
    17.6 in place of 9.7 at 512 wide. The gain of its last norm therefore starts at FIRST_GAIN / dim^1/2, and the first
    loss is near ln(vocabulary).
    """
    fill_weights(model, config, seed=seed)
    if first_weights_are_left_out():
        return
    if config.norm_position in SUM_WITHOUT_NORM:
        scale_down_last_norm(model.decoder.norm, config)
    elif config.rezero:
        scale_down_last_norm(model.decoder.blocks[-1].norm_feed_forward.first, config)


@torch.no_grad()
def scale_down_last_norm(norm: nn.Module, config: ModelConfig) -> None:
    """Lowers the gain of the last norm of a decoder; see `init_weights`."""
    assert isinstance(norm.weight, nn.Parameter), "a norm has a gain"
    norm.weight.fill_(min(1.0, FIRST_GAIN / math.sqrt(config.dim)))


@torch.no_grad()
def fill_weights(model: nn.Module, config: ModelConfig, *, seed: int) -> None:
    """The same without that gain: of the layers of an encoder those whose names begin so, of a decoder all others."""
    if first_weights_are_left_out():
        return
    generator = torch.Generator().manual_seed(seed)
    writers = 2 * config.encoder_layers, 3 * config.decoder_layers
    for name, module in model.named_modules():
        damp = 1.0
        if config.norm_position in SUM_WITHOUT_NORM:
            damp = 1 / math.sqrt(writers[0] if name.startswith("encoder") else writers[1])
        match module:
            case SubLayerNorm() if module.last is not None:
                module.last.weight.fill_(damp)
            case SelfAttention():
                xavier(module.qkv, width=config.dim, gain=1.0, generator=generator)
                xavier(module.out, width=config.dim, gain=damp, generator=generator)
            case CrossAttention():
                xavier(module.q, width=config.dim, gain=1.0, generator=generator)
                xavier(module.kv, width=config.dim, gain=1.0, generator=generator)
                xavier(module.out, width=config.dim, gain=damp, generator=generator)
            case MixtureOfExperts():
                std = xavier_std(config.dim, module.down.shape[2])
                fill_experts(module, generator=generator, std=std, damp=damp)
            case FeedForward():
                gates = 2 if config.activation in GATED else 1
                width = module.up.out_features // gates
                xavier(module.up, width=width, gain=1.0, generator=generator)
                xavier(module.down, width=config.dim, gain=damp, generator=generator)
            case nn.Embedding():
                values = torch.randn(module.weight.shape, generator=generator) / math.sqrt(config.dim)
                module.weight.copy_(values)


def xavier(linear: nn.Linear, *, width: int, gain: float, generator: torch.Generator) -> None:
    """Uniform in ± gain × sqrt(6 / (fan in + fan out)); `width` is the fan out, that of one of the fused parts."""
    bound = gain * math.sqrt(6 / (linear.in_features + width))
    linear.weight.copy_((torch.rand(linear.weight.shape, generator=generator) * 2 - 1) * bound)
    if linear.bias is not None:
        linear.bias.zero_()
