"""A decoding session on the graphs of an export: see `types.DecoderSession`."""

from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from trimtab.export.onnx.binding import Bound


@runtime_checkable
class Graphs(Protocol):
    """The two graphs, as a session calls them."""

    layers: int
    kv_heads: int
    size: int
    num_ids: int

    def encode(self, ids: Int[Tensor, "rows source"], real: Bool[Tensor, "rows source"]) -> list[Tensor]:
        """Keys and values of the source, layer by layer."""
        ...

    def decode(self, inputs: dict[str, Bound], outputs: dict[str, Bound]) -> None:
        """Runs the decoder; what it gives is written into `outputs`."""
        ...


class Cache:
    """Keys or values of one layer, in one of two buffers: what comes next is written into the other one.

    Both are made once, as large as they can become, so that no step asks for memory or copies what a graph gave.
    """

    def __init__(self, hypotheses: int, *, heads: int, size: int, max_length: int, of: Tensor) -> None:
        """`of` has the type and the device of the buffers."""
        self.heads, self.size, self.hypotheses, self.past = heads, size, hypotheses, 0
        self.now, self.next = of.new_empty((2, hypotheses * heads * max_length * size))

    def bound(self) -> Bound:
        """What is remembered."""
        return Bound(self.now, self._shape(self.hypotheses, self.past))

    def longer(self) -> Bound:
        """Where what will be remembered is to be written, one token longer; then it is remembered."""
        self.past += 1
        self.now, self.next = self.next, self.now
        return self.bound()

    def choose(self, hypotheses: Int[Tensor, "chosen"]) -> None:
        """Goes on with these hypotheses, in this order, not more than there are."""
        before = self.now[: self._numbers(self.hypotheses)].view(self._shape(self.hypotheses, self.past))
        self.hypotheses = len(hypotheses)
        after = self.next[: self._numbers(self.hypotheses)].view(self._shape(self.hypotheses, self.past))
        torch.index_select(before, 0, hypotheses, out=after)
        self.now, self.next = self.next, self.now

    def _shape(self, hypotheses: int, past: int) -> tuple[int, int, int, int]:
        return hypotheses, self.heads, past, self.size

    def _numbers(self, hypotheses: int) -> int:
        return hypotheses * self.heads * self.past * self.size


class OnnxSession:
    """Sources being translated, `width` hypotheses each."""

    def __init__(
        self,
        graphs: Graphs,
        ids: Int[Tensor, "rows source"],
        real: Bool[Tensor, "rows source"],
        *,
        width: int,
        max_length: int,
    ) -> None:
        self.graphs, self.real, self.rows, self.width = graphs, real, len(ids), width
        self.source = graphs.encode(ids, real)
        self.names = [f"{number}.{part}" for number in range(graphs.layers) for part in ("keys", "values")]
        sizes = {"heads": graphs.kv_heads, "size": graphs.size, "max_length": max_length}
        self.caches = [Cache(len(ids) * width, **sizes, of=each) for each in self.source]

    def step(self, tokens: Int[Tensor, "rows width"]) -> Float[Tensor, "rows width vocabulary"]:
        """Feeds one token to each hypothesis and gives the float32 logits of the next one."""
        logits = torch.empty((self.rows, self.width, 1, self.graphs.num_ids), device=tokens.device)
        inputs = {"tokens": Bound.of(tokens[..., None]), "real": Bound.of(self.real)}
        outputs = {"logits": Bound.of(logits)}
        for name, source, cache in zip(self.names, self.source, self.caches, strict=True):
            inputs |= {f"source.{name}": Bound.of(source), f"past.{name}": cache.bound()}
            outputs[f"present.{name}"] = cache.longer()
        self.graphs.decode(inputs, outputs)
        return logits[:, :, 0]

    def reorder(self, parents: Int[Tensor, "rows width"]) -> None:
        """Hypothesis j of row i continues hypothesis `parents[i, j]` of the same row."""
        if self.width > 1:
            first = torch.arange(self.rows, device=parents.device)[:, None] * self.width
            self._choose((first + parents).flatten())

    def keep(self, rows: Int[Tensor, "kept"]) -> None:
        """Continues with these rows only, in this order."""
        offsets = torch.arange(self.width, device=rows.device)
        self._choose((rows[:, None] * self.width + offsets).flatten())
        self.real, self.source = self.real[rows], [each[rows] for each in self.source]
        self.rows = len(rows)

    def _choose(self, hypotheses: Int[Tensor, "chosen"]) -> None:
        for cache in self.caches:
            cache.choose(hypotheses)
