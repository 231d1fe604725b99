"""A sequence-to-sequence model of Hugging Face's transformers, as decoding and scoring see it."""

import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from trimtab.errors import input_error
from trimtab.export.hf.library import (
    check_whole,
    quiet,
    require_transformers,
    shapes_in,
    unreadable,
)
from trimtab.export.hf.marian_files import CLASSES, check_files, check_shapes
from trimtab.export.padded_rows import batches_of
from trimtab.types import Ragged, Stream


def open_hugging_face(
    folder: Path, *, device: torch.device, expected: Mapping[str, int] | None = None
) -> "HuggingFaceModel":
    """The model in a folder that an export wrote, in float32, in evaluation mode.

    `expected` are values of `config.json` that are known from elsewhere. Nothing is fetched from anywhere and no code
    of the folder is executed. Raises InputError if the folder holds anything that an export does not write, where
    a tensor is missing, left over, or of another shape, and where transformers cannot read it.
    """
    require_transformers()
    config = check_files(folder)
    _check_expected(folder, config, expected or {})
    check_shapes(folder, config, shapes_in(folder))
    import transformers

    try:
        with quiet():
            network, found = getattr(transformers, CLASSES[config["model_type"]]).from_pretrained(
                folder,
                local_files_only=True,
                trust_remote_code=False,
                use_safetensors=True,
                attn_implementation="sdpa",
                ignore_mismatched_sizes=True,  # they are reported by name below
                output_loading_info=True,
            )
    except Exception as error:  # a library may raise anything on a file of unknown origin
        raise unreadable(folder, error) from None
    check_whole(folder, network, found)
    return HuggingFaceModel(network.float().eval().to(device))


def _check_expected(folder: Path, config: Mapping[str, Any], expected: Mapping[str, int]) -> None:
    if others := [key for key, value in expected.items() if config.get(key) != value]:
        raise input_error(
            f"{folder / 'config.json'}: not the settings of this export",
            got=", ".join(f"{key} {config.get(key)}" for key in others)[:200],
            allowed=", ".join(f"{key} {expected[key]}" for key in others)[:200] + ", as the recipe says",
            fix="export the run again",
        )


class HuggingFaceModel:
    """An encoder-decoder of transformers; see `export.target.Engine`."""

    def __init__(self, network: Any, *, start: int | None = None) -> None:
        """`start` is what decoders are fed first, by default what config.json says."""
        self.network = network
        self.device: torch.device = network.device
        self.start: int = network.config.decoder_start_token_id if start is None else start
        self.pad: int = network.config.pad_token_id
        self.positions: int = getattr(network.config, "max_position_embeddings", 0)
        # It was called `past_key_values` up to transformers 5.23.
        arguments = inspect.signature(network.forward).parameters
        self.cache_name = "cache" if "cache" in arguments else "past_key_values"

    def open_session(self, source: Stream, *, rows: int, width: int, max_length: int) -> "HuggingFaceSession":
        """Encodes the source."""
        lengths = source.cu_seqlens.diff()[:rows].tolist()
        ids = source.ids.split([*lengths, len(source.ids) - sum(lengths)])[:rows]
        return HuggingFaceSession(self, *self.padded([row.tolist() for row in ids]), width=width)

    @torch.inference_mode()
    def log_probabilities(self, source: Ragged, target: Ragged) -> list[list[float]]:
        """The natural log-probability of each target token after its row of source ids, rows in their order."""
        found: dict[int, list[float]] = {}
        for batch in batches_of(source.lengths + target.lengths):
            read, mask = self.padded([source.row(row).tolist() for row in batch])
            written = [target.row(row).tolist() for row in batch]
            fed, _ = self.padded([[self.start, *row[:-1]] for row in written])
            # What is fed after the end of a row is seen by nothing before it.
            logits = self.network(input_ids=read, attention_mask=mask, decoder_input_ids=fed).logits
            labels, _ = self.padded(written)
            scores = logits.float().log_softmax(-1).gather(2, labels[..., None])[..., 0]
            for row, ids, line in zip(batch, written, scores.tolist(), strict=True):
                found[row] = line[: len(ids)]
        return [found[row] for row in range(len(source))]

    def padded(self, rows: Sequence[Sequence[int]]) -> tuple[Int[Tensor, "rows longest"], Tensor]:
        """The rows filled up after their end, and 1 where there is a token."""
        longest = max(map(len, rows))
        ids = [[*row, *[self.pad] * (longest - len(row))] for row in rows]
        mask = [[1] * len(row) + [0] * (longest - len(row)) for row in rows]
        return torch.tensor(ids, device=self.device), torch.tensor(mask, device=self.device)


class HuggingFaceSession:
    """Sources being translated, `width` hypotheses each; see `types.DecoderSession`."""

    def __init__(self, model: HuggingFaceModel, ids: Tensor, mask: Tensor, *, width: int) -> None:
        self.model, self.rows, self.width = model, len(ids), width
        encoder = model.network.get_encoder()
        memory = encoder(input_ids=ids, attention_mask=mask).last_hidden_state
        self.memory = memory.repeat_interleave(width, 0)
        self.mask = mask.repeat_interleave(width, 0)
        self.cache: Any = None

    def step(self, tokens: Int[Tensor, "rows width"]) -> Float[Tensor, "rows width vocabulary"]:
        """Feeds one token to each hypothesis and gives the float32 logits of the next one."""
        given = self.model.network(
            attention_mask=self.mask,
            encoder_outputs=(self.memory,),
            decoder_input_ids=tokens.reshape(-1, 1),
            use_cache=True,
            **{self.model.cache_name: self.cache},
        )
        self.cache = given[self.model.cache_name]
        return given.logits[:, -1].float().view(self.rows, self.width, -1)

    def reorder(self, parents: Int[Tensor, "rows width"]) -> None:
        """Hypothesis j of row i continues hypothesis `parents[i, j]` of the same row."""
        first = torch.arange(self.rows, device=parents.device)[:, None] * self.width
        self.cache.reorder_cache((first + parents).flatten())

    def keep(self, rows: Int[Tensor, "kept"]) -> None:
        """Continues with these rows only, in this order."""
        offsets = torch.arange(self.width, device=rows.device)
        chosen = (rows[:, None] * self.width + offsets).flatten()
        self.memory, self.mask = self.memory[chosen], self.mask[chosen]
        self.cache.reorder_cache(chosen)
        self.rows = len(rows)
