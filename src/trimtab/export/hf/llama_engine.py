"""A language model of Hugging Face's transformers, as generation sees it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
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
from trimtab.model.module.prompts import NetworkPrompts
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

    def open_prompts(self, *, rows: int, width: int, max_length: int) -> NetworkPrompts:
        """Room for `rows` prompts, `width` texts each."""
        return NetworkPrompts(self.network, rows=rows, width=width)

    @torch.inference_mode()
    def logits(self, rows: Sequence[Sequence[int]]) -> list[Float[Tensor, "tokens vocabulary"]]:
        """The logits after each token of each row."""
        longest = max(map(len, rows))
        ids = torch.tensor([[*row, *[row[0]] * (longest - len(row))] for row in rows], device=self.device)
        mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in rows], device=self.device)
        found = self.network(input_ids=ids, attention_mask=mask, use_cache=False).logits.float()
        return [logits[: len(row)] for logits, row in zip(found, rows, strict=True)]
