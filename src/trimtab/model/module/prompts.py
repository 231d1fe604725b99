"""Prompts that a language model of transformers continues, one token at a time with its own cache."""

import inspect
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor


class NetworkPrompts:
    """Prompts that continue; see `decode.continuing.OpenPrompts`."""

    def __init__(self, network: Any, *, rows: int, width: int) -> None:
        """`network` is a `...ForCausalLM` of transformers; `width` texts for each of the `rows`."""
        self.network, self.rows, self.width = network, rows, width
        # It was called `past_key_values` up to transformers 5.23.
        known = inspect.signature(network.forward).parameters
        self.cache_name = "cache" if "cache" in known else "past_key_values"
        self.cache: Any = None
        self.mask = torch.zeros((rows * width, 0), dtype=torch.long, device=network.device)
        """1 where a slot of the cache holds a token."""
        self.last_position: int = network.config.max_position_embeddings - 1

    def feed(self, tokens: Int[Tensor, "rows length"], skipped: Int[Tensor, "rows"]) -> None:
        """Feeds what each row begins with, before any step; its first `skipped` are no tokens."""
        places = torch.arange(tokens.shape[1], device=tokens.device)
        self.mask = (places >= skipped[:, None]).long()
        self._run(tokens)
        self.mask = self.mask.repeat_interleave(self.width, 0)
        self.cache.batch_repeat_interleave(self.width)

    def step(self, tokens: Int[Tensor, "rows width"]) -> Float[Tensor, "rows width vocabulary"]:
        """Feeds one token to each text and gives the float32 logits of the next one."""
        self.mask = torch.cat([self.mask, self.mask.new_ones(len(self.mask), 1)], 1)
        return self._run(tokens.reshape(-1, 1)).view(self.rows, self.width, -1)

    def keep(self, rows: Int[Tensor, "kept"]) -> None:
        """Continues with these rows only, in this order."""
        offsets = torch.arange(self.width, device=rows.device)
        chosen = (rows[:, None] * self.width + offsets).flatten()
        self.mask = self.mask[chosen]
        self.cache.batch_select_indices(chosen)
        self.rows = len(rows)

    def _run(self, tokens: Int[Tensor, "texts length"]) -> Float[Tensor, "texts vocabulary"]:
        positions = (self.mask.cumsum(1) - 1)[:, -tokens.shape[1] :]
        found = self.network(
            input_ids=tokens,
            attention_mask=self.mask,
            # Rows that are done may run on beyond the last position; what they say is not read any more.
            position_ids=positions.clamp(0, self.last_position),
            use_cache=True,
            logits_to_keep=1,
            **{self.cache_name: self.cache},
        )
        self.cache = found[self.cache_name]
        return found.logits[:, -1].float()
