"""The pieces of a sentencepiece model as a table, for splits that are drawn here."""

import math
import re
from dataclasses import dataclass
from typing import Any

_UNKNOWN_PENALTY = 10.0
"""What sentencepiece takes off the lowest score for a character that has no piece."""
_WORDS = re.compile("▁*[^▁]+|▁+$")
_LONGEST_WORD = 4096
"""Characters of what is split at once. A draw goes through a word character by character, and merges take the square of
its length; such words are no words, and no piece goes across the cut."""


@dataclass(frozen=True, slots=True)
class PieceTable:
    """What a split needs to know; texts are normalised ones, with `▁` for spaces."""

    scores: dict[str, tuple[int, float]]
    """Id and score of each piece that a text can be split into: a log-probability, or less the later a merge."""
    unknown: int
    unknown_score: float
    bytes: tuple[int, ...]
    """Id of each byte, or nothing where the model has no byte fallback."""
    whole: dict[str, int]
    """Ids of the pieces that the user defined: they are never split, and nothing joins them."""
    pattern: re.Pattern[str] | None
    """What finds those, as a group."""
    by_word: bool
    """Whether no piece goes across the beginning of a word, so that words can be split one by one."""

    @classmethod
    def of(cls, processor: Any) -> "PieceTable":
        """The table of a `SentencePieceProcessor`."""
        scores: dict[str, tuple[int, float]] = {}
        whole: dict[str, int] = {}
        bytes_of: list[int] = []
        for id in range(processor.vocab_size()):
            if processor.is_byte(id):
                bytes_of.append(id)
            elif not (processor.is_control(id) or processor.is_unknown(id) or processor.is_unused(id)):
                piece, score = processor.id_to_piece(id), processor.get_score(id)
                scores[piece] = (id, score)
                # Pieces of the user have the score 0; the first merge of a BPE model has -0.
                if score == 0 and math.copysign(1.0, score) > 0:
                    whole[piece] = id
        lowest = min((score for _, score in scores.values()), default=0.0)
        longest_first = sorted(whole, key=len, reverse=True)
        return cls(
            scores=scores,
            unknown=processor.unk_id(),
            unknown_score=lowest - _UNKNOWN_PENALTY,
            bytes=tuple(bytes_of) if len(bytes_of) == 256 else (),
            whole=whole,
            pattern=re.compile(f"({'|'.join(map(re.escape, longest_first))})") if whole else None,
            by_word=all("▁" not in piece.lstrip("▁") for piece in scores),
        )

    def parts(self, text: str) -> list[str]:
        """The stretches of a normalised text that are split by themselves, and those that are in `whole`."""
        if self.pattern is None:
            return self._words(text)
        parts: list[str] = []
        for number, stretch in enumerate(self.pattern.split(text)):
            parts += [stretch] if number % 2 else self._words(stretch)
        return parts

    def spell(self, piece: str) -> list[int]:
        """Ids of a piece, or of a character that has none."""
        if piece in self.scores:
            return [self.scores[piece][0]]
        return [self.bytes[each] for each in piece.encode()] if self.bytes else [self.unknown]

    def _words(self, text: str) -> list[str]:
        words = _WORDS.findall(text) if self.by_word else [text]
        if len(text) <= _LONGEST_WORD:
            return words if text else []
        return [
            word[first : first + _LONGEST_WORD]
            for word in words
            for first in range(0, len(word), _LONGEST_WORD)
        ]
