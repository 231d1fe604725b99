"""A split of a text under a BPE model, with merges left out by chance."""

import random
from dataclasses import dataclass

from trimtab.data.piece_table import PieceTable


@dataclass(frozen=True, slots=True)
class BpeDraw:
    """BPE-dropout (Provilkov et al. 2020, arXiv 1910.13267) as sentencepiece has it: the best merge comes first, and
    one that is left out is not tried again, where the paper draws for all merges anew after each."""

    table: PieceTable
    dropout: float
    """Share of the merges that are left out."""

    def split(self, text: str, rng: random.Random) -> list[int]:
        """Ids of a normalised text."""
        ids: list[int] = []
        for word, whole in self.table.parts(text):
            for piece in [word] if whole else self._merged(word, rng):
                ids += self.table.spell(piece)
        return self.table.joined(ids)

    def _merged(self, word: str, rng: random.Random) -> list[str]:
        pieces, starts = list(word), list(range(len(word)))
        gone: set[tuple[int, str, str]] = set()
        scores = self.table.scores
        while True:
            best: tuple[float, int] | None = None
            for place in range(len(pieces) - 1):
                known = scores.get(pieces[place] + pieces[place + 1])
                if known is None or (best is not None and known[1] <= best[0]):
                    continue
                if (starts[place], pieces[place], pieces[place + 1]) not in gone:
                    best = known[1], place
            if best is None:
                return pieces
            place = best[1]
            if rng.random() < self.dropout:
                gone.add((starts[place], pieces[place], pieces[place + 1]))
            else:
                pieces[place : place + 2] = [pieces[place] + pieces[place + 1]]
                del starts[place + 1]
