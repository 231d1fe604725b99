"""A language model of Hugging Face's transformers, as generation sees it."""

import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from trimtab.config.decoder_model import DecoderModel
from trimtab.export.hf.library import (
    check_finite,
    check_whole,
    quiet,
    require_transformers,
    shapes_in,
    unreadable,
)
from trimtab.export.hf.llama_files import check_llama_files, check_llama_shapes
from trimtab.export.hf.llama_shape import class_name
from trimtab.types import Tokenizer


def open_llama(
    folder: Path, config: DecoderModel, tokenizer: Tokenizer, *, window: int, device: torch.device
) -> "LlamaModel":
    """The model in a folder that an export wrote, in float32, in evaluation mode.

    Nothing is fetched from anywhere and no code of the folder is executed. Raises InputError if the folder holds
    anything that an export of this model does not write, and where transformers cannot read it.
    """
    require_transformers()
    check_llama_files(folder, config, tokenizer, window=window)
    check_llama_shapes(folder, config, shapes_in(folder), num_ids=tokenizer.num_ids)
    import transformers

    try:
        with quiet():
            network, found = getattr(transformers, class_name(config)).from_pretrained(
                folder,
                local_files_only=True,
                trust_remote_code=False,
                use_safetensors=True,
                attn_implementation="sdpa",
                output_loading_info=True,
            )
    except Exception as error:  # a library may raise anything on a file of unknown origin
        raise unreadable(folder, error) from None
    check_whole(folder, network, found)
    check_finite(folder, network)
    return LlamaModel(network.float().eval().to(device))


class LlamaModel:
    """See `export.target.TextEngine`."""

    def __init__(self, network: Any) -> None:
        self.network = network
        self.device: torch.device = network.device
        # It was called `past_key_values` up to transformers 5.23.
        self.takes_cache = "cache" in inspect.signature(network.forward).parameters

    def open_prompts(self, *, rows: int, width: int, max_length: int) -> "LlamaSession":
        """Room for `rows` prompts, `width` texts each."""
        return LlamaSession(self, rows=rows, width=width)

    @torch.inference_mode()
    def logits(self, rows: Sequence[Sequence[int]]) -> list[Float[Tensor, "tokens vocabulary"]]:
        """The logits after each token of each row."""
        longest = max(map(len, rows))
        ids = torch.tensor([[*row, *[row[0]] * (longest - len(row))] for row in rows], device=self.device)
        mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in rows], device=self.device)
        found = self.network(input_ids=ids, attention_mask=mask, use_cache=False).logits.float()
        return [logits[: len(row)] for logits, row in zip(found, rows, strict=True)]


class LlamaSession:
    """Prompts that continue; see `decode.continuing.OpenPrompts`."""

    def __init__(self, model: LlamaModel, *, rows: int, width: int) -> None:
        self.model, self.rows, self.width = model, rows, width
        self.cache: Any = None
        self.mask = torch.zeros((rows * width, 0), dtype=torch.long, device=model.device)
        """1 where a slot of the cache holds a token."""

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
        positions = (self.mask.cumsum(1) - 1).clamp(min=0)[:, -tokens.shape[1] :]
        name = "cache" if self.model.takes_cache else "past_key_values"
        given = self.model.network(
            input_ids=tokens,
            attention_mask=self.mask,
            position_ids=positions,
            use_cache=True,
            logits_to_keep=1,
            **{name: self.cache},
        )
        self.cache = given[name]
        return given.logits[:, -1].float()
