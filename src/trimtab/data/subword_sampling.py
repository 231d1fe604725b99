"""Splits of lines by chance, each a function of the seed and the example.

They are drawn here, for all lines of a chunk at once, each with a stream of numbers of its own: the generator of
sentencepiece mixes a number of the process into every seed, so a run that goes on in another process would be another
run.
"""

from collections.abc import Sequence
from typing import Any, Literal, assert_never, get_args

from trimtab.config.sampling import BpeDropout, Sampling, SubwordRegularization
from trimtab.data.bpe_draw import BpeDraw
from trimtab.data.mixture import Places
from trimtab.data.nbest_draw import NbestDraw
from trimtab.data.order import stream_keys
from trimtab.data.piece_table import PieceTable
from trimtab.data.sentencepiece_model import SentencePiece
from trimtab.data.unigram_draw import UnigramDraw
from trimtab.errors import input_error

Side = Literal["source", "target"]

DRAWN_BY = "streams of SplitMix64, named by seed, side, corpus, line and turn"
"""Stands in the fingerprints of a run: one whose splits were drawn otherwise would go on as another run."""
_SPLITS = 3
"""What the random streams are for; part of their keys."""


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
    config: Sampling | None, tokenizer: SentencePiece, *, side: Side, seed: int, key: str = "data.tokenizer"
) -> SubwordSampling | None:
    """How a side is split by chance, None where it is not.

    Raises InputError where the model is of another kind; `key` is how the recipe calls the tokenizer.
    """
    if config is None or config.sides not in (side, "both"):
        return None
    fits = "unigram" if isinstance(config, SubwordRegularization) else "bpe"
    if tokenizer.algorithm != fits:
        raise input_error(
            f"{key}.sampling: {config.kind} does not fit the model",
            got=f"a {tokenizer.algorithm} model",
            allowed=f"a {fits} model",
            fix="take bpe_dropout for a bpe model, subword_regularization for a unigram model, or leave it out",
        )
    return SubwordSampling(config, tokenizer, side, seed)
