"""Splits of lines by chance, each a function of the seed and the example.

They are drawn here, for all lines of a chunk at once, each with a stream of numbers of its own: the generator of
sentencepiece mixes a number of the process into every seed, so a resumed run in another process would be another
run.
"""

import math
from bisect import bisect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Literal, assert_never, get_args

import numpy as np

from trimtab.config.sampling import BpeDropout, Sampling, SubwordRegularization
from trimtab.data.bpe_draw import BpeDraw
from trimtab.data.mixture import Places
from trimtab.data.order import stream_keys, uniform
from trimtab.data.piece_table import PieceTable
from trimtab.data.sentencepiece_model import SentencePiece
from trimtab.data.stored_tokenizer import AnyTokenizer
from trimtab.data.unigram_draw import UnigramDraw
from trimtab.errors import input_error

Side = Literal["source", "target"]

DRAWN_BY = "streams of SplitMix64, named by seed, side, corpus, line and turn"
"""Stands in the fingerprints of a run: one whose splits were drawn otherwise would continue as another run."""
_SPLITS = 3
"""What the random streams are for; part of their keys."""


@dataclass(frozen=True, slots=True)
class NbestDraw:
    """One of the `n` best splits, by its probability to a power (Kudo 2018, arXiv 1804.10959, section 3.2)."""

    best: Callable[[str], list[list[int]]]
    """The best splits of a line, as ids."""
    scores: Sequence[float]
    """Log-probability of each piece."""
    alpha: float

    def splits(self, lines: Sequence[str], keys: np.ndarray) -> list[list[int]]:
        """Ids of each line as it is, not normalised; the first number of the stream that its key names decides (see
        `order.stream_keys`)."""
        draws = uniform(keys, np.zeros(len(keys), np.int64)).tolist()
        return [self._split(line, draw) for line, draw in zip(lines, draws, strict=True)]

    def _split(self, line: str, draw: float) -> list[int]:
        splits = self.best(line)
        weights = [self.alpha * sum(map(self.scores.__getitem__, split)) for split in splits]
        highest = max(weights, default=0.0)
        sums = list(accumulate(math.exp(weight - highest) for weight in weights))
        return splits[bisect(sums, draw * sums[-1])] if splits else []


class SubwordSampling:
    """How one side is split; a split is a function of the seed, the side, and the corpus, line and turn.

    Pickled as its arguments: each worker makes tables of its own.
    """

    def __init__(self, config: Sampling, tokenizer: SentencePiece, side: Side, seed: int) -> None:
        self.config, self.tokenizer, self.side, self.seed = config, tokenizer, side, seed
        self._draw = _draw(config, tokenizer)

    def __reduce__(self) -> tuple[Any, ...]:
        return SubwordSampling, (self.config, self.tokenizer, self.side, self.seed)

    def encode(self, lines: Sequence[str], places: Places) -> list[list[int]]:
        """Ids of each line, end symbol included; `places` says which example each line is of."""
        texts = lines if isinstance(self._draw, NbestDraw) else self.tokenizer.normalized(lines)
        side = get_args(Side).index(self.side)
        keys = stream_keys(self.seed, _SPLITS, side, places.corpus, places.line, places.turn)
        return [[*row, self.tokenizer.end] for row in self._draw.splits(texts, keys)]


def _draw(config: Sampling, tokenizer: SentencePiece) -> UnigramDraw | BpeDraw | NbestDraw:
    match config:
        case SubwordRegularization(nbest="all"):
            return UnigramDraw.of(PieceTable.of(tokenizer.processor), config.alpha)
        case SubwordRegularization():
            n = int(config.nbest)
            scores = [tokenizer.processor.get_score(id) for id in range(tokenizer.num_ids)]
            return NbestDraw(lambda line: tokenizer.nbest(line, n), scores, config.alpha)
        case BpeDropout():
            return BpeDraw.of(PieceTable.of(tokenizer.processor), config.dropout)
        case _:
            assert_never(config)


def plan_sampling(
    config: Sampling | None, tokenizer: AnyTokenizer, *, side: Side, seed: int, key: str = "data.tokenizer"
) -> SubwordSampling | None:
    """How a side is split by chance, None if it is not.

    Raises InputError if the model is of another kind; `key` is how the recipe calls the tokenizer.
    """
    if config is None or config.sides not in (side, "both"):
        return None
    assert isinstance(tokenizer, SentencePiece), "of other tokenizers recipes ask for no sampling"
    fits = "unigram" if isinstance(config, SubwordRegularization) else "bpe"
    if tokenizer.algorithm != fits:
        raise input_error(
            f"{key}.sampling: {config.kind} does not fit the model",
            got=f"a {tokenizer.algorithm} model",
            allowed=f"a {fits} model",
            fix="take bpe_dropout for a bpe model, subword_regularization for a unigram model, or leave it out",
        )
    return SubwordSampling(config, tokenizer, side, seed)
