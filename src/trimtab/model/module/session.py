"""Decoding one token at a time with the cache of a module of transformers; see `types.DecoderSession`.

The searches are trimtab's: constraints, glossaries, prefixes, ensembles, n-best lists and samples work as with its own
models, and translations are those of `generate` (see the tests).
"""

import inspect
from typing import Any, Protocol, runtime_checkable

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int, Shaped
from torch import Tensor

CACHE = "cache"


@runtime_checkable
class Decodes(Protocol):
    """A module of transformers with a decoder that attends to a source."""

    forced_first: int | None
    """What every text begins with; None for anything."""

    @property
    def output_matrix(self) -> Tensor:
        """Scores the vocabulary."""
        ...

    def fed(self, side: Any, ids: Tensor) -> dict[str, Tensor]:
        """What the decoder reads of ids."""
        ...

    def scored(self, hidden: Tensor) -> Tensor:
        """The decoder's vectors as `output_matrix` takes them."""
        ...


class ModuleSession:
    """`rows` sources being translated, or images being read, `width` hypotheses each."""

    def __init__(
        self,
        model: Decodes,
        decoder: Any,
        memory: Float[Tensor, "rows longest dim"],
        real: Shaped[Tensor, "rows longest"],
        *,
        width: int,
    ) -> None:
        """`memory` is what the encoder gave for each place of the sources, `real` is 0 where there is none."""
        self.model, self.rows, self.width, self.past = model, len(memory), width, 0
        self.memory = memory.repeat_interleave(width, 0)
        self.real = real.repeat_interleave(width, 0).long()
        self.decoder = decoder
        # It was called `past_key_values` up to transformers 5.23.
        known = inspect.signature(self.decoder.forward).parameters
        self.cache_name = CACHE if CACHE in known else "past_key_values"
        self.cache: Any = None
        self.matrix = model.output_matrix
        self.short_output: Int[Tensor, "short"] | None = None

    def step(self, tokens: Int[Tensor, "rows width"]) -> Float[Tensor, "rows width vocabulary"]:
        """Feeds one token to each hypothesis and gives the float32 logits of the next one."""
        found = self.decoder(
            **self.model.fed(self.decoder, tokens.reshape(-1, 1)),
            encoder_hidden_states=self.memory,
            encoder_attention_mask=self.real,
            use_cache=True,
            **{self.cache_name: self.cache},
        )
        self.cache = found[self.cache_name]
        logits = F.linear(self.model.scored(found.last_hidden_state[:, -1]), self.matrix).float()
        if self.past == 0 and self.model.forced_first is not None:
            logits = self._forced(logits)
        self.past += 1
        return logits.view(self.rows, self.width, -1)

    def _forced(self, logits: Float[Tensor, "hypotheses vocabulary"]) -> Tensor:
        """The first token has a probability of one, as in `generate`."""
        forced = torch.full_like(logits, float("-inf"))
        if self.short_output is None:
            forced[:, self.model.forced_first] = 0.0
            return forced
        forced[:, self.short_output == self.model.forced_first] = 0.0
        return forced

    def cut_output(self, ids: Int[Tensor, "short"]) -> None:
        """From now on, `step` gives the logits of these ids alone, in this order."""
        self.short_output, self.matrix = ids, self.model.output_matrix[ids]

    def reorder(self, parents: Int[Tensor, "rows width"]) -> None:
        """Hypothesis j of row i continues hypothesis `parents[i, j]` of the same row."""
        first = torch.arange(self.rows, device=parents.device)[:, None] * self.width
        # Keys and values of the source are those of the row, and stay where they are.
        _choose(self.cache.self_attention_cache, (first + parents).flatten())

    def keep(self, rows: Int[Tensor, "kept"]) -> None:
        """Continues with these rows only, in this order."""
        offsets = torch.arange(self.width, device=rows.device)
        chosen = (rows[:, None] * self.width + offsets).flatten()
        self.memory, self.real = self.memory[chosen], self.real[chosen]
        if self.cache is not None:
            _choose(self.cache.self_attention_cache, chosen)
            _choose(self.cache.cross_attention_cache, chosen)
        self.rows = len(rows)


def _choose(cache: Any, hypotheses: Int[Tensor, "chosen"]) -> None:
    for layer in cache.layers:
        layer.keys, layer.values = (each.index_select(0, hypotheses) for each in (layer.keys, layer.values))
