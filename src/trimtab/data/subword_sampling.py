"""Splits of lines by chance, each a function of the seed and the example.

sentencepiece draws from one generator for the whole process. Its newer versions start it anew when a seed is set, so
setting one for each line makes a split depend on nothing else; older ones do not, and are refused here.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, assert_never

import sentencepiece

from trimtab.config.sampling import BpeDropout, Sampling, SubwordRegularization
from trimtab.data.mixture import Places
from trimtab.data.sentencepiece_model import SentencePiece
from trimtab.errors import input_error

Side = Literal["source", "target"]
_MOST_PIECES = 2000


@dataclass(frozen=True, slots=True)
class SubwordSampling:
    """How one side is split; a split is a function of the seed, the side, and the corpus, line and turn."""

    tokenizer: SentencePiece
    side: Side
    seed: int
    alpha: float
    """Power of the probabilities of a unigram model; share of merges left out of a BPE model."""
    nbest: int
    """So many of the best splits, or -1 for all; means nothing to a BPE model."""

    def encode(self, lines: Sequence[str], places: Places) -> list[list[int]]:
        """Ids of each line, end symbol included; `places` says which example each line is of."""
        numbers = zip(places.corpus.tolist(), places.line.tolist(), places.turn.tolist(), strict=True)
        seeds = [self._seed(f"{corpus} {line} {turn}") for corpus, line, turn in numbers]
        return self.tokenizer.sample(lines, seeds, alpha=self.alpha, nbest=self.nbest)

    def _seed(self, example: str) -> int:
        """A number of 31 bits: sentencepiece takes the largest of 32 for no seed at all."""
        digest = hashlib.blake2b(f"{self.seed} {self.side} {example}".encode(), digest_size=4).digest()
        return int.from_bytes(digest, "little") >> 1


def plan_sampling(
    config: Sampling | None, tokenizer: SentencePiece, *, side: Side, seed: int, key: str = "data.tokenizer"
) -> SubwordSampling | None:
    """How a side is split by chance, None where it is not.

    Raises InputError where the model is of another kind, or the installed sentencepiece cannot be seeded; `key` is how
    the recipe calls the tokenizer.
    """
    if config is None or config.sides not in (side, "both"):
        return None
    match config:
        case SubwordRegularization():
            fits, nbest = "unigram", -1 if config.nbest == "all" else config.nbest
            sampling = SubwordSampling(tokenizer, side, seed, config.alpha, nbest)
        case BpeDropout():
            fits, sampling = "bpe", SubwordSampling(tokenizer, side, seed, config.dropout, -1)
        case _:
            assert_never(config)
    if tokenizer.algorithm != fits:
        raise input_error(
            f"{key}.sampling: {config.kind} does not fit the model",
            got=f"a {tokenizer.algorithm} model",
            allowed=f"a {fits} model",
            fix="take bpe_dropout for a bpe model, subword_regularization for a unigram model, or leave it out",
        )
    if not _seeds_decide(tokenizer):
        raise input_error(
            f"{key}.sampling: the installed sentencepiece cannot be seeded for each line",
            got=f"sentencepiece {sentencepiece.__version__}",
            allowed="0.2.3 or newer, so that a run can go on exactly where it was",
            fix="pip install -U sentencepiece",
        )
    return sampling


def _seeds_decide(tokenizer: SentencePiece) -> bool:
    """Whether the same seed gives the same split of a text that can be split in very many ways."""
    pieces = [tokenizer.piece(id).replace("▁", " ") for id in range(min(tokenizer.num_ids, _MOST_PIECES))]
    text = "".join(piece for piece in pieces if not piece.startswith("<"))
    first, second = tokenizer.sample([text, text], [7, 7], alpha=0.3, nbest=-1)
    return first == second
