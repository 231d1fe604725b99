"""Surgery on sentencepiece models whose pieces another file numbers: Marian's (`vocab.json`, a model for the source and
one for the target) and M2M100's, whose language codes are numbered after the pieces of the file."""

import json
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from trimtab.vocabulary.change import VocabularyChange
from trimtab.vocabulary.sentencepiece_vocabulary import SentencePieceVocabulary
from trimtab.vocabulary.vocabulary import Text

UNKNOWN = "<unk>"


@dataclass(frozen=True)
class TableVocabulary:
    """See `Vocabulary`; ids are those of the table, then `behind` more that no file spells."""

    table: dict[str, int]
    models: tuple[SentencePieceVocabulary, ...]
    """Different models; the first splits sources."""
    files: tuple[tuple[str, int], ...]
    """Names of the files of models, and which of the models each holds."""
    behind: int = 0
    file: str = "vocab.json"

    @property
    def num_ids(self) -> int:
        """See `Vocabulary`."""
        return len(self.table) + self.behind

    @property
    def algorithm(self) -> str:
        """See `Vocabulary`."""
        return self.models[0].algorithm

    @property
    def readers(self) -> int:
        """See `Vocabulary`."""
        return len(self.models)

    @property
    def protected(self) -> frozenset[int]:
        """What no model has as an ordinary piece: symbols, and language codes."""
        return self._protected

    def encode(self, lines: Sequence[str], *, reader: int = 0) -> list[list[int]]:
        """See `Vocabulary`."""
        rows = self.models[reader].processor.encode([*lines], out_type=str, num_threads=1)
        unknown = self.table[UNKNOWN]
        return [[self.table.get(piece, unknown) for piece in row] for row in rows]

    def decode(self, rows: Sequence[Sequence[int]], *, reader: int = 0) -> list[str]:
        """See `Vocabulary`."""
        decode = self.models[reader].processor.decode_pieces
        return [decode([self.piece(id) for id in row]) for row in rows]

    def piece(self, id: int) -> str:
        """See `Vocabulary`; what no file spells is named by its place."""
        return self._pieces.get(id) or f"row {id - len(self.table)} behind the pieces"

    @property
    def unnumbered(self) -> frozenset[str]:
        """See `Vocabulary`: pieces of a model that the table lacks."""
        return frozenset(self._ordinary - self.table.keys())

    def with_ancestors(self, ids: Collection[int]) -> set[int]:
        """See `Vocabulary`."""
        found = {*ids}
        for model in self.models:
            here = {model.ids[self.piece(id)] for id in ids if self.piece(id) in model.ids}
            pieces = (model.piece(id) for id in model.with_ancestors(here))
            found |= {self.table[piece] for piece in pieces if piece in self.table}
        return found

    def by_usefulness(self) -> list[int]:
        """See `Vocabulary`: each model's first piece, then each one's second, and so on."""
        places: dict[int, int] = {}
        for model in self.models:
            for place, id in enumerate(model.by_usefulness()):
                if (found := self.table.get(model.piece(id))) is not None:
                    places[found] = min(place, places.get(found, place))
        return sorted(places, key=lambda id: (places[id], id))

    def trimmed(self, kept: Sequence[int]) -> "TableVocabulary":
        """See `Vocabulary`."""
        table = {self._pieces[old]: new for new, old in enumerate(kept) if old < len(self.table)}
        dropped = self.table.keys() - table.keys()
        models = tuple(each.without(dropped) for each in self.models)
        return replace(self, table=table, models=models)

    def extended(self, texts: Sequence[Text], number: int) -> "tuple[TableVocabulary, VocabularyChange]":
        """See `Vocabulary`. Each model gets pieces from the texts that it splits, in proportion to their words; new ids
        come after those of the table, before language codes."""
        words: Counter[int] = Counter()
        for text in texts:
            words[text.reader] += sum(len(line.split()) for line in text.lines) + 1
        models = [*self.models]
        spelled: dict[str, tuple[int, ...]] = {}
        left, last = number, max(words)
        for reader in sorted(words):
            share = left if reader == last else round(number * words[reader] / words.total())
            model = models[reader]
            lines = [line for text in texts if text.reader == reader for line in text.lines]
            # A piece of the other side has a row, which means something else here than what it would replace.
            new = model.scored(model.propose(lines, share, taken=self.table))
            models[reader] = model.with_pieces(new)
            for piece, _ in new:
                if piece not in self.table and piece not in spelled:
                    old = [model.piece(id) for id in model.spelled(piece)]
                    spelled[piece] = tuple(self.table[each] for each in old if each in self.table)
            left = number - len(spelled)
        size = len(self.table)
        table = {**self.table, **{piece: size + place for place, piece in enumerate(spelled)}}
        change = VocabularyChange((*range(size), *spelled.values(), *range(size, self.num_ids)))
        return replace(self, table=table, models=tuple(models)), change

    def write(self, folder: Path) -> None:
        """See `Vocabulary`."""
        text = json.dumps(self.table, ensure_ascii=False, indent=2) + "\n"
        (folder / self.file).write_text(text, encoding="utf-8")
        for name, number in self.files:
            (folder / name).write_bytes(self.models[number].model)

    @cached_property
    def _protected(self) -> frozenset[int]:
        named = {id for piece, id in self.table.items() if piece not in self._ordinary}
        return frozenset(named | {*range(len(self.table), self.num_ids)})

    @cached_property
    def _pieces(self) -> dict[int, str]:
        return {id: piece for piece, id in self.table.items()}

    @cached_property
    def _ordinary(self) -> frozenset[str]:
        return frozenset(
            model.piece(id)
            for model in self.models
            for id in range(model.num_ids)
            if id not in model.protected
        )
