"""An exported folder as its users have it: tokenizer and `generate` of transformers."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from trimtab.export.hf.marian_engine import HuggingFaceModel
from trimtab.types import Ragged

ROWS_AT_ONCE = 16


class OpenedHuggingFace:
    """See `export.target.TranslatesLines`."""

    def __init__(self, model: HuggingFaceModel, tokenizer: Any) -> None:
        self.model, self.tokenizer = model, tokenizer

    def encode(self, lines: Sequence[str], tags: Sequence[str]) -> list[list[int]]:
        """What the tokenizer gives for each line with the tags written before it."""
        return self.tokenizer([" ".join([*tags, line]) for line in lines])["input_ids"]

    def log_probabilities(self, source: Ragged, target: Ragged) -> list[list[float]]:
        """The natural log-probability of each target token."""
        return self.model.log_probabilities(source, target)

    @torch.inference_mode()
    def search(self, source: Ragged, *, beam: int, limits: Sequence[int]) -> list[list[int]]:
        """`generate` with the settings of the folder and one thing more, for which there is no setting: at the limit of
        its row a hypothesis can only end."""
        found: dict[int, list[int]] = {}
        order = sorted(range(len(source)), key=lambda row: (limits[row], row))
        for limit, same in groupby(order, key=lambda row: limits[row]):
            rows = list(same)
            for start in range(0, len(rows), ROWS_AT_ONCE):
                few = rows[start : start + ROWS_AT_ONCE]
                found.update(zip(few, self._generated(source, few, beam=beam, limit=limit), strict=True))
        return [found[row] for row in range(len(source))]

    def decode(self, rows: Sequence[Sequence[int]]) -> list[str]:
        """What the tokenizer makes of each row."""
        return self.tokenizer.batch_decode([list(row) for row in rows], skip_special_tokens=True)

    def _generated(self, source: Ragged, rows: list[int], *, beam: int, limit: int) -> list[list[int]]:
        ids, mask = self.model.padded([source.row(row).tolist() for row in rows])
        network = self.model.network
        end = network.generation_config.eos_token_id
        written = network.generate(
            input_ids=ids,
            attention_mask=mask,
            num_beams=beam,
            max_length=limit + 1,
            logits_processor=[EndAt(limit, end=end)],
        )
        lists = [row[1:] for row in written.tolist()]
        return [row[: row.index(end)] if end in row else row for row in lists]


class EndAt:
    """Where a hypothesis is at its limit only the end symbol stays in reach, with the score that the model gave it."""

    def __init__(self, limit: int, *, end: int) -> None:
        self.limit, self.end = limit, end

    def __call__(
        self, ids: Int[Tensor, "hypotheses length"], scores: Float[Tensor, "hypotheses vocabulary"]
    ) -> Float[Tensor, "hypotheses vocabulary"]:
        """The scores of the next symbol; `ids` begin with the start symbol."""
        if ids.shape[1] < self.limit:
            return scores
        only = torch.full_like(scores, float("-inf"))
        only[:, self.end] = scores[:, self.end]
        return only
