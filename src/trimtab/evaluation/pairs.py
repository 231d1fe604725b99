"""Scores given translations: the log-probability of pairs of lines."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import torch

from trimtab.data.reference_rows import reference_rows
from trimtab.decode.given_texts import checked_texts
from trimtab.errors import InputError, input_error
from trimtab.evaluation.score_rows import row_log_probabilities
from trimtab.inference import ExportedModel, LoadedModel, open_model
from trimtab.types import Ragged

BLOCK_PAIRS = 2048
"""Pairs read ahead and sorted together."""
BLOCK_CHARACTERS = 4_000_000
"""A block closes on these too, so that very long lines need no more memory than others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairScore:
    """What a model thinks of one pair."""

    line: int
    """Counted from 1."""
    num_tokens: int
    """Target tokens, end symbol included."""
    log_probability: float | None
    """Sum of the natural log-probabilities of the target's tokens, end symbol included; None if the pair is longer
    than the model can read."""
    source_tokens: int
    """End symbol and tags included."""

    @property
    def per_token(self) -> float | None:
        """The sum divided by the number of tokens: the score of a beam search with a length penalty of 1."""
        return None if self.log_probability is None else self.log_probability / self.num_tokens

    def to_dict(self) -> dict[str, Any]:
        """Plain values that JSON has."""
        return {
            "line": self.line,
            "log_probability": self.log_probability,
            "per_token": self.per_token,
            "tokens": self.num_tokens,
            "source_tokens": self.source_tokens,
        }


def score(
    run: Path | str,
    sources: Iterable[str],
    targets: Iterable[str],
    *,
    tags: Sequence[str] = (),
    device: str | None = None,
) -> Iterator[PairScore]:
    """For each pair of lines the log-probability that `RUN`, `RUN@last`, `RUN@500` or the folder of an export gives the
    target after the source; in order, in bounded memory.

    Both sides are treated as in training; `tags` are put before every source line, and a warning is logged where no
    line of the training was tagged so. Raises InputError if one side has more lines than the other, or is one text
    and no list, and for a tag that is none, besides what `load_model` raises.
    """
    sources, targets = _checked_sides(sources, targets)
    return score_pairs(open_model(run, device=device), sources, targets, tags=tags)


def score_pairs(
    model: LoadedModel | ExportedModel,
    sources: Iterable[str],
    targets: Iterable[str],
    *,
    tags: Sequence[str] = (),
) -> Iterator[PairScore]:
    """The same for a model that is loaded."""
    sources, targets = _checked_sides(sources, targets)
    tags = model.look_at(tags)
    return _in_blocks(model, sources, targets, tags)


def _in_blocks(
    model: LoadedModel | ExportedModel, sources: Iterable[str], targets: Iterable[str], tags: Sequence[str]
) -> Iterator[PairScore]:
    first, block, size = 1, [], 0
    for source, target in zip_longest(sources, targets):
        if source is None or target is None:
            yield from _score_block(model, block, tags=tags, first=first)
            raise _unequal(first + len(block), longer="sources" if target is None else "targets")
        block.append((source, target))
        size += len(source) + len(target)
        if len(block) == BLOCK_PAIRS or size > BLOCK_CHARACTERS:
            yield from _score_block(model, block, tags=tags, first=first)
            first, block, size = first + len(block), [], 0
    yield from _score_block(model, block, tags=tags, first=first)


def _score_block(
    model: LoadedModel | ExportedModel, block: list[tuple[str, str]], *, tags: Sequence[str], first: int
) -> list[PairScore]:
    if not block:
        return []
    sources, targets = [source for source, _ in block], [target for _, target in block]
    rows = reference_rows(model.recipe, model.tokenizers, sources, targets, tags=tags)
    fits = rows.fits
    found = log_probabilities(model, rows.source.take(fits), rows.target.take(fits), prompt=rows.prompt[fits])
    sums = dict(zip(fits.tolist(), found, strict=True))
    return [
        PairScore(
            line=first + number,
            num_tokens=int(rows.target_tokens[number]),
            log_probability=sums.get(number),
            source_tokens=int(rows.source_tokens[number]),
        )
        for number in range(len(block))
    ]


@torch.inference_mode()
def log_probabilities(
    model: LoadedModel | ExportedModel, source: Ragged, target: Ragged, *, prompt: np.ndarray | None = None
) -> list[float]:
    """Summed log-probability of each row of target ids after its row of source ids, all within `max_tokens`; without
    the first `prompt` of each, which are given."""
    if not len(source):
        return []
    if isinstance(model, ExportedModel):
        return model.log_probabilities(source, target)
    return row_log_probabilities(model, source, target, prompt=prompt).tolist()


def _checked_sides(sources: Iterable[str], targets: Iterable[str]) -> tuple[Iterable[str], Iterable[str]]:
    return checked_texts(sources, name="sources"), checked_texts(targets, name="targets")


def _unequal(line: int, *, longer: str) -> InputError:
    return input_error(
        "pairs: one side has more lines than the other",
        got=f"line {line} in the {longer} only",
        allowed="as many targets as sources",
        fix="check that both come from the same set and that neither was filtered alone",
    )
