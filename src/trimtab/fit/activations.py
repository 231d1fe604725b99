"""Bytes that autograd keeps of each layer until its backward pass, by what they belong to.

Derived from `model/block.py`, `model/feed_forward.py` and `model/lora.py`, operation by operation: what PyTorch saves
of each for its gradient, and for compiled layers what is left of it after the partition into a forward and a backward
graph, which saves no float32 copy that it can cast again. `tests/fit/test_activations.py` counts the saved tensors of
real layers by `torch.autograd.graph.saved_tensors_hooks` and finds these numbers.

Names: D is the width, H that of all queries, K that of all keys, F that of the feed-forward block, n the heads; h are
the bytes of a number in products (2, or 4 in fp32) and r those of the residual stream.

| of a token                     | launched one by one                    | compiled                                |
| ------------------------------ | -------------------------------------- | --------------------------------------- |
| each norm                      | 4D of its input, 4 or 8 of statistics  | rD for the first, hD for the second     |
| what enters a linear map       | hD                                     | hD                                      |
| attention                      | h(H + 2K), rotated h(H + K), out hH, 4n | the same                               |
| shared keys that are repeated  | h 3H in place of the first two         | the same                                |
| full documents as rows         | hH more, of both parts in one stream;  | the same                                |
|                                | repeated keys of the rest once more    |                                         |
| relu; gelu or silu; gated      | hF; 2hF; 4hF, or 3hF with SwiGLU's kernel | hF; 2hF; 3hF                         |
| dropout, each                  | D                                      | D                                       |
| attention to a source          | hD + hH + hH + 4n, and 4D of its norm  | 4D more, hD less for the norm before it |
| a map with LoRA of rank R; DoRA | hR; as many as it has outputs more     | the same                                |
| of a source token, each layer  | hD + h 2K                              | hD + h 2K                               |
"""

from collections import Counter
from dataclasses import dataclass
from typing import Literal

from trimtab.fit.shape import Layer, Stack

Kind = Literal[
    "norms", "linear inputs", "attention", "feed-forward", "dropout", "adapters", "recomputed from"
]


@dataclass(frozen=True, slots=True)
class Program:
    """How the layers run."""

    precision: Literal["fp32", "tf32", "bf16_mixed", "fp16_mixed", "bf16"]
    compiled: bool
    packed: bool = True
    """Whether attention runs over flat packs; else over padded rows."""
    repeats_keys: bool = False
    """Whether the kernel of attention takes as many heads of keys as of queries, so that shared ones are repeated."""
    beside_rows: float = 0.0
    """The most of a pack that is left for another kernel where attention takes full documents as rows; 0 where it does
    not."""
    recompute: Literal["none", "feed_forward", "block"] = "none"
    """What is computed again in the backward pass, of each layer."""
    casts_rms_norm: bool = True
    """Whether autocast makes what enters RMSNorm float32, as it does from PyTorch 2.13 on."""

    @property
    def is_whole(self) -> bool:
        """Whether products are in float32."""
        return self.precision in ("fp32", "tf32")

    @property
    def half(self) -> int:
        """Bytes of a number that enters a product."""
        return 4 if self.is_whole else 2

    @property
    def weight(self) -> int:
        """Bytes of a trained weight and of its gradient."""
        return 2 if self.precision == "bf16" else 4

    @property
    def copies_weights(self) -> bool:
        """Whether autocast copies the matrices in half precision."""
        return self.precision in ("bf16_mixed", "fp16_mixed")

    def residual(self, layer: Layer) -> int:
        """Bytes of a number of the residual stream."""
        if self.precision == "bf16":
            stays_narrow = layer.norm == "rms" and not self.casts_rms_norm
            return 2 if layer.norm_first or layer.keeps_half or stays_narrow else 4
        return 2 if layer.keeps_half and self.precision == "bf16_mixed" else 4


def of_layer(layer: Layer, how: Program) -> Counter[Kind]:
    """Bytes of each of the layer's own tokens."""
    found = Counter[Kind]()
    found["attention"] = _attention(layer, how) + (_cross_attention(layer, how) if layer.cross else 0)
    found["feed-forward"] = _feed_forward(layer, how)
    found["dropout"] = layer.dim * (3 if layer.cross else 2) if layer.drops else 0
    found["norms"] = _compiled_norms(layer, how) if how.compiled else _norms(layer, how)
    found["linear inputs"] = _linear_inputs(layer, how)
    found["adapters"] = how.half * (sum(width for _, width in layer.adapters) + layer.scaled)
    return found


def kept_of_layer(layer: Layer, how: Program) -> Counter[Kind]:
    """The same where some of it is computed again: what enters the layer or its feed-forward sub-layer stays."""
    if how.recompute == "none":
        return of_layer(layer, how)
    stream = Counter[Kind]({"recomputed from": how.residual(layer) * layer.dim})
    if how.recompute == "block":
        return stream
    return of_layer(layer, how) - _recomputed_feed_forward(layer, how) + stream


def recomputed_bytes(layer: Layer, how: Program) -> int:
    """Bytes of each token that the backward pass of a layer makes again."""
    match how.recompute:
        case "none":
            return 0
        case "feed_forward":
            return _recomputed_feed_forward(layer, how).total()
        case "block":
            return of_layer(layer, how).total()


def _recomputed_feed_forward(layer: Layer, how: Program) -> Counter[Kind]:
    """What the feed-forward sub-layer keeps, its norm included; where the norm comes after, it is none of it."""
    adapters = how.half * sum(width for name, width in layer.adapters if name in ("up", "down"))
    norm = (how.half * layer.dim if how.compiled else of_norm(layer, how)) if layer.norm_first else 0
    entered = how.half * layer.dim if _saves_input(layer, "up") else 0
    return Counter[Kind](
        {
            "feed-forward": _feed_forward(layer, how),
            "linear inputs": entered,
            "norms": norm,
            "adapters": adapters,
        }
    )


def of_source(layer: Layer, how: Program) -> int:
    """Bytes that one layer's attention to the source keeps of each source token: the encoder's output in half
    precision, keys and values."""
    width = 2 * (layer.query_width if repeated(layer, how) else layer.key_width)
    copy = 0 if how.is_whole or not _saves_input(layer, "cross.kv") else how.half * layer.dim
    return copy + how.half * width


def rotary_bytes(stack: Stack) -> int:
    """Bytes of each token that all layers of a side share: cosines and sines of rotary positions."""
    return 4 * stack.layer.head_size if stack.layer.rotates else 0


def repeated(layer: Layer, how: Program) -> bool:
    """Whether the heads of keys and values are repeated for the kernel."""
    return layer.kv_heads < layer.heads and (how.repeats_keys or not how.packed)


def _attention(layer: Layer, how: Program) -> int:
    half, queries, keys = how.half, layer.query_width, layer.key_width
    sums = 4 * layer.heads
    if how.beside_rows:
        sums += half * queries if _saves_input(layer, "out") else 0
        sums += int(half * 2 * queries * how.beside_rows) if repeated(layer, how) else 0
    if not how.packed:  # padded rows of queries, keys, values and the output, and the output as a flat stream
        return half * 5 * queries + sums
    norms = 0
    # Where nothing casts what enters them, these norms keep the output of the map as it is.
    as_it_is = how.is_whole or (how.precision == "bf16" and not how.casts_rms_norm)
    if layer.qk_norm:
        norms = 4 * (layer.heads + layer.kv_heads)
        norms += 0 if how.compiled or as_it_is else 4 * (queries + keys)
    if repeated(layer, how):
        own_queries = queries if layer.rotates or layer.qk_norm else queries + 2 * keys
        kept = queries + 2 * keys if layer.qk_norm and as_it_is and not how.compiled else 0
        return half * (own_queries + 2 * queries + queries + kept) + sums + norms
    moved = queries + keys if layer.rotates or layer.qk_norm else 0
    return half * (queries + 2 * keys + moved + queries) + sums + norms


def _cross_attention(layer: Layer, how: Program) -> int:
    rows = 3 if not how.packed else 2
    return how.half * rows * layer.query_width + 4 * layer.heads


def _feed_forward(layer: Layer, how: Program) -> int:
    product = how.half * layer.feed_forward
    if layer.gated:
        kept = 3 if how.compiled or (layer.activation == "swiglu" and not how.is_whole) else 4
        saved = kept * product
        return saved if _saves_input(layer, "down") else saved - product
    if layer.activation == "relu":
        return product
    return 2 * product if _saves_input(layer, "down") else product


def _norms(layer: Layer, how: Program) -> int:
    """Of layers whose operations are launched one by one."""
    return (3 if layer.cross else 2) * of_norm(layer, how)


def of_norm(layer: Layer, how: Program) -> int:
    """Each norm keeps its input in float32. Without a cast by autocast, an RMSNorm whose input is narrower than its
    gain is computed in single operations, which keep what the gain multiplies as well, if the gain is trained; and one
    whose gain is as narrow as its input keeps it as it is."""
    if layer.norm == "layer":
        return 4 * layer.dim + 8
    size = 4
    if not how.casts_rms_norm and how.residual(layer) == 2:
        size = 2 if how.precision == "bf16" else 4 if layer.frozen else 8
    return size * layer.dim + 4


def _compiled_norms(layer: Layer, how: Program) -> int:
    """The residual stream as it enters the layer, and what a sub-layer adds to it, from which it is computed again."""
    dim, residual = layer.dim, how.residual(layer)
    statistics = 8 if layer.norm == "layer" else 4
    kept = residual * dim + statistics + how.half * dim + statistics
    if layer.cross:
        kept += residual * dim + 4
    if not layer.norm_first and residual == 4:
        kept += 4 * dim - (statistics - 4)
    return kept


def _linear_inputs(layer: Layer, how: Program) -> int:
    entered = [name for name in ("qkv", "cross.q", "up") if name != "cross.q" or layer.cross]
    kept = sum(_saves_input(layer, name) for name in entered)
    return how.half * layer.dim * kept


def _saves_input(layer: Layer, name: str) -> bool:
    """Whether a linear map keeps what enters it: a frozen one needs it for no gradient."""
    return not layer.frozen or any(adapted == name for adapted, _ in layer.adapters)
