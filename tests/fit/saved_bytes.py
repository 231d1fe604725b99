"""Counts what autograd saves of real layers, with the casts of CUDA's autocast made on the CPU.

A CPU has neither CUDA's autocast nor its kernels. So linear maps and norms cast as autocast does there, RMSNorm and
dropout save what the fused kernels of CUDA save, and attention is an operator that saves what `attend_tiled` and
`varlen_attn` do: queries, keys, values, output and the logarithms of the softmax's sums.
"""

import json
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from trimtab.config.decoder_model import DecoderModel
from trimtab.config.model import EncoderDecoderModel
from trimtab.fit.activations import Program
from trimtab.model import block as blocks
from trimtab.model.block import DecoderBlock, EncoderBlock, Source
from trimtab.model.gated import swiglu_op, swiglu_plain
from trimtab.model.low_rank import with_low_rank
from trimtab.model.positions.kind import PositionInputs, RotaryCosSin
from trimtab.model.sequence_layout import SequenceLayout

TOKENS = 97
"""No width of the layers under test."""
HALF = torch.bfloat16
LAYOUT = SequenceLayout(torch.tensor([0, TOKENS], dtype=torch.int32), TOKENS, None, None)


@torch.library.custom_op("trimtab_tests::attend", mutates_args=())
def attend_op(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    return torch.zeros(q.shape, dtype=q.dtype), torch.zeros(q.shape[1], q.shape[0])


@attend_op.register_fake
def _(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    return q.new_empty(q.shape), q.new_empty((q.shape[1], q.shape[0]), dtype=torch.float32)


@torch.library.custom_op("trimtab_tests::attend_backward", mutates_args=())
def backward_op(
    g: Tensor, q: Tensor, k: Tensor, v: Tensor, o: Tensor, s: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    return torch.zeros(q.shape, dtype=q.dtype), torch.zeros(k.shape, dtype=k.dtype), torch.zeros_like(v)


@backward_op.register_fake
def _(g: Tensor, q: Tensor, k: Tensor, v: Tensor, o: Tensor, s: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    return q.new_empty(q.shape), k.new_empty(k.shape), v.new_empty(v.shape)


def _save(ctx: Any, inputs: tuple, output: tuple) -> None:
    ctx.save_for_backward(*inputs, *output)
    ctx.mark_non_differentiable(output[1])


def _gradients(ctx: Any, gradient: Tensor, _: Any) -> tuple:
    return backward_op(gradient.contiguous(), *ctx.saved_tensors)


attend_op.register_autograd(_gradients, setup_context=_save)


class FusedRmsNorm(torch.autograd.Function):
    """Saves what RMSNorm of CUDA does: `_fused_rms_norm` its input, gain and one statistic of each row; single
    operations, which run where input and gain differ in precision, also what a trained gain multiplies."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor) -> Tensor:
        wide = x.float()
        statistic = wide.square().mean(-1, keepdim=True).add(1e-6).rsqrt()
        normed = wide * statistic
        if x.dtype == weight.dtype:
            ctx.save_for_backward(x, weight, statistic)
            return (normed * weight).to(x.dtype)
        ctx.save_for_backward(wide, weight, statistic, *([normed] if weight.requires_grad else []))
        return normed * weight

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple:
        x, weight, statistic, *_ = ctx.saved_tensors
        return gradient * statistic * weight, (gradient * x * statistic).flatten(0, -2).sum(0)


def repeated(*tensors: Tensor, group: int) -> list[Tensor]:
    """Keys or values once for each head of the queries."""
    return [each.repeat_interleave(group, dim=1) if group > 1 else each for each in tensors]


def attended(q: Tensor, k: Tensor, v: Tensor, *, how: Program, cast: Callable[[Any], Any]) -> Tensor:
    """Attention that saves what the kernels of a program do; with rows as `attend_full_first`."""
    group = q.shape[1] // k.shape[1]
    if how.beside_rows:
        first = TOKENS - round(how.beside_rows * TOKENS)
        rows = attend_op(*(cast(each)[:first] for each in (q, *repeated(k, v, group=group))))[0]
        rest = attend_op(*map(cast, (q[first:], *repeated(k[first:], v[first:], group=group))))[0]
        return torch.cat([rows, rest])
    if how.repeats_keys and group > 1:
        k, v = repeated(k, v, group=group)
    return attend_op(cast(q), cast(k), cast(v))[0]


@contextmanager
def as_on_cuda(how: Program) -> Generator[None]:
    """While it is open layers compute and save as they do on a GPU under this program."""
    half = None if how.is_whole else HALF

    def cast(x: Tensor | None) -> Tensor | None:
        return x if x is None or half is None else x.to(half)

    def linear(self: nn.Linear, x: Tensor) -> Tensor:
        return F.linear(cast(x), cast(self.weight), cast(self.bias))

    def plain_linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        return torch._C._nn.linear(cast(x), cast(weight), cast(bias))

    def low_rank(x: Tensor, *rest: Tensor | None) -> Tensor:
        return with_low_rank(cast(x), *rest)

    def rms_norm(self: nn.RMSNorm, x: Tensor) -> Tensor:
        if how.compiled:  # the compiler has operations of its own for it
            found = torch.ops.aten._fused_rms_norm(
                x.float(), list(self.normalized_shape), self.weight.float(), self.eps
            )
            return found[0]
        if how.casts_rms_norm:
            return FusedRmsNorm.apply(x.float(), self.weight.float())
        return FusedRmsNorm.apply(x, self.weight)

    def layer_norm(self: nn.LayerNorm, x: Tensor) -> Tensor:
        return F.layer_norm(
            x.float(), self.normalized_shape, self.weight.float(), self.bias.float(), self.eps
        )

    def dropout(x: Tensor, p: float, training: bool) -> Tensor:
        return torch.native_dropout(x, p, True)[0] if p else x

    def attend(q: Tensor, k: Tensor, v: Tensor, **rest: Any) -> Tensor:
        return attended(q, k, v, how=how, cast=cast)

    def swiglu_on_cuda(both: Tensor) -> Tensor:
        return swiglu_plain(both) if how.is_whole else swiglu_op(both)

    with (
        patch.object(nn.Linear, "forward", linear),
        patch.object(nn.RMSNorm, "forward", rms_norm),
        patch.object(nn.LayerNorm, "forward", layer_norm),
        patch.object(blocks.F, "dropout", dropout),
        patch("trimtab.model.lora.F.linear", plain_linear),
        patch("trimtab.model.lora.with_low_rank", low_rank),
        patch.object(blocks, "attend", attend),
        patch("trimtab.model.feed_forward.swiglu", swiglu_on_cuda),
    ):
        yield


def partitioned(graph: Any, inputs: Any) -> Any:
    """A backend of torch.compile that cuts a block as inductor does, and writes no kernels."""
    from torch._inductor.compile_fx import compile_fx

    def plain(graph: Any, example_inputs: Any, **rest: Any) -> Any:
        return graph

    return compile_fx(graph, inputs, inner_compile=plain)


def saved_bytes(layer: nn.Module, run: Callable[[], Tensor]) -> tuple[int, int]:
    """Bytes that autograd saves in a forward pass: of tensors with a row for each token, and of all others that are no
    weights."""
    weights = {weight.untyped_storage().data_ptr() for weight in layer.parameters()}
    found: dict[int, tuple[int, bool, Any]] = {}

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights:
            of_tokens = TOKENS in tensor.shape
            found[storage.data_ptr()] = (storage.nbytes(), of_tokens, storage)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        run()
    of_tokens = sum(size for size, is_activation, _ in found.values() if is_activation)
    return of_tokens, sum(size for size, _, _ in found.values()) - of_tokens


def decoder_layer(model: DecoderModel, how: Program) -> tuple[DecoderBlock, Callable[[], Tensor], int]:
    """A layer of a language model, a forward pass of it, and the bytes of its cosines and sines."""
    layer = DecoderBlock(model, own=model)
    if how.precision == "bf16":
        layer = layer.to(HALF)
    narrow = how.precision == "bf16" or (model.residual == "half" and how.precision == "bf16_mixed")
    x = torch.zeros(TOKENS, model.dim, dtype=HALF if narrow else torch.float32, requires_grad=True)
    rotates = model.position_settings.rotates
    angles = torch.zeros(TOKENS, 1, model.size_of_heads)
    rotary = RotaryCosSin(*angles.chunk(2, dim=-1)) if rotates else None
    run = prepared(layer, how)
    positions = PositionInputs(rotary, None)
    return layer, lambda: run(x + 0, LAYOUT, positions), angles.nbytes if rotates else 0


def translator_layers(
    model: EncoderDecoderModel, how: Program
) -> tuple[tuple[nn.Module, Callable[[], Tensor]], tuple[nn.Module, Callable[[], Tensor]]]:
    """A layer of an encoder and one of a decoder, each with a forward pass."""
    nothing = PositionInputs(None, None)
    encoder, decoder = EncoderBlock(model.encoder), DecoderBlock(model.decoder)
    x = torch.zeros(TOKENS, model.dim, requires_grad=True)
    memory = torch.zeros(TOKENS, model.dim, requires_grad=True) + 0
    encode, decode = prepared(encoder, how), prepared(decoder, how)
    source = Source(memory, LAYOUT, LAYOUT)
    return (
        (encoder, lambda: encode(x + 0, LAYOUT, nothing)),
        (decoder, lambda: decode(x + 0, LAYOUT, nothing, source=source)),
    )


def prepared(layer: nn.Module, how: Program) -> Callable[..., Tensor]:
    """The layer, cut into two graphs where the program is compiled."""
    if how.compiled:
        torch._dynamo.reset()
        layer.compile(backend=partitioned, dynamic=False)
    return layer


def main() -> None:
    """Counts compiled layers in a process of its own: the checks of types that tests bring cannot be compiled. Reads
    and writes JSON: settings of models with what to count, and bytes of tokens and of everything else."""
    counted: list[tuple[int, int]] = []
    for case in json.load(sys.stdin):
        how = Program("bf16_mixed", compiled=True, repeats_keys=case["repeats"])
        with as_on_cuda(how):
            if case["kind"] == "decoder":
                layer, run, angles = decoder_layer(DecoderModel(**case["model"]), how)
                of_tokens, rest = saved_bytes(layer, run)
                counted.append((of_tokens - angles, rest))
            else:
                layers = translator_layers(EncoderDecoderModel(**case["model"]), how)
                counted += [saved_bytes(*each) for each in layers]
    print("COUNTED", json.dumps(counted))


if __name__ == "__main__":
    main()
