"""A translator that gives back what it reads, so that order and completeness can be seen: one token a character."""

from collections.abc import Sequence

import torch

from trimtab.decode.search import Search
from trimtab.decode.setup import TranslationSetup
from trimtab.types import Stream


class CharacterTokenizer:
    """Characters get their ids as they come; those after the vocabulary is full are unknown."""

    pad, unknown, start, end = 0, 1, 2, 3

    def __init__(self, num_ids: int) -> None:
        self.num_ids = num_ids
        self.known: dict[str, int] = {}

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        return [[*(self._id(character) for character in line), self.end] for line in lines]

    def decode(self, rows: Sequence[Sequence[int]]) -> list[str]:
        characters = {number: character for character, number in self.known.items()}
        return ["".join(characters.get(number, "") for number in row) for row in rows]

    def _id(self, character: str) -> int:
        if character not in self.known:
            if len(self.known) + 4 >= self.num_ids:
                return self.unknown
            self.known[character] = len(self.known) + 4
        return self.known[character]


class CopyingModel:
    """Expects of each row the symbols of its source, one after another, whatever it is fed."""

    def __init__(self, vocabulary: int) -> None:
        self.vocabulary = vocabulary
        self.batches: list[tuple[int, int, int]] = []
        """Rows, width and longest source of each session."""

    def open_session(self, source: Stream, *, rows: int, width: int, max_length: int) -> "CopyingSession":
        assert source.cu_seqlens.tolist()[0] == 0
        assert len(source.cu_seqlens) == rows + 1
        self.batches.append((rows, width, source.max_seqlen))
        table = torch.full((rows, max_length), CharacterTokenizer.end)
        fits = source.positions < max_length
        table[source.segments[fits], source.positions[fits]] = source.ids[fits]
        return CopyingSession(table, width=width, vocabulary=self.vocabulary)


class CopyingSession:
    def __init__(self, table: torch.Tensor, *, width: int, vocabulary: int) -> None:
        self.table, self.width, self.vocabulary = table, width, vocabulary
        self.num_steps = 0

    def step(self, tokens: torch.Tensor) -> torch.Tensor:
        assert tokens.shape == (len(self.table), self.width)
        logits = torch.zeros(len(self.table), self.width, self.vocabulary)
        expected = self.table[:, self.num_steps, None, None].expand(-1, self.width, 1)
        self.num_steps += 1
        return logits.scatter_(-1, expected, 30.0)

    def reorder(self, parents: torch.Tensor) -> None:
        assert parents.shape == (len(self.table), self.width)

    def keep(self, rows: torch.Tensor) -> None:
        self.table = self.table[rows]


def copying(
    *, vocabulary: int = 1000, max_tokens: int = 64, beam: int = 1, batch_tokens: int = 16384
) -> TranslationSetup:
    return TranslationSetup(
        model=CopyingModel(vocabulary),
        tokenizer=CharacterTokenizer(vocabulary),
        device=torch.device("cpu"),
        normalise=str,
        max_tokens=max_tokens,
        search=Search(beam=beam),
        batch_tokens=batch_tokens,
    )
