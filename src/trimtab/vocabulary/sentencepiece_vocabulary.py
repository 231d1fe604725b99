"""Surgery on a sentencepiece model: pieces of its file taken out or put in, everything else of it byte for byte."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from sentencepiece import SentencePieceProcessor

from trimtab.data.byte_pieces import (
    BYTE,
    CONTROL,
    NORMAL,
    UNKNOWN,
    UNUSED,
    USER_DEFINED,
    bytes_field,
    number_field,
    piece_message,
)
from trimtab.errors import input_error
from trimtab.export.hf.sentencepiece_spec import SentencePieceSpec, Sort, fields
from trimtab.vocabulary.change import VocabularyChange
from trimtab.vocabulary.merges import one_kind
from trimtab.vocabulary.piece_training import (
    SURPLUS,
    Split,
    most_used,
    proposed,
    scored,
    split_rows,
    unigram_splitter,
)
from trimtab.vocabulary.split import ancestors, bpe_split, words_of
from trimtab.vocabulary.vocabulary import Proposal, Text, missing_characters

_TYPES: Mapping[Sort, int] = {
    "normal": NORMAL,
    "unknown": UNKNOWN,
    "control": CONTROL,
    "user": USER_DEFINED,
    "unused": UNUSED,
    "byte": BYTE,
}
_PIECES, _TRAINER, _SELF_TEST = 1, 2, 4
"""Fields of a model. The self-test holds splits by the old pieces, and a model that fails it does not load."""
_SIZE = 4
"""Field of the trainer's settings."""


@dataclass(frozen=True)
class SentencePieceVocabulary:
    """See `Vocabulary`; ids are the model's own."""

    model: bytes
    file: str
    """Where in a folder it is written."""

    @cached_property
    def spec(self) -> SentencePieceSpec:
        """What the file says."""
        return SentencePieceSpec.of(self.model)

    @cached_property
    def processor(self) -> SentencePieceProcessor:
        """The library's own object."""
        made = SentencePieceProcessor()
        made.LoadFromSerializedProto(self.model)
        return made

    @property
    def num_ids(self) -> int:
        """Pieces."""
        return len(self.spec.pieces)

    @property
    def algorithm(self) -> str:
        """Unigram or BPE; InputError for words and characters, of which nothing can be taken."""
        if self.spec.model is None:
            raise input_error(
                f"{self.file}: its pieces cannot be changed",
                got="a sentencepiece model of words, characters or bytes",
                allowed="unigram or BPE",
                fix="train a tokenizer: `trimtab tokenizer train`",
            )
        return {"unigram": "unigram", "bpe": "BPE"}[self.spec.model]

    @property
    def readers(self) -> int:
        """See `Vocabulary`."""
        return 1

    @property
    def protected(self) -> frozenset[int]:
        """Everything but ordinary pieces."""
        return self._protected

    def encode(self, lines: Sequence[str], *, reader: int = 0) -> list[list[int]]:
        """See `Vocabulary`."""
        return self.processor.encode(list(lines), out_type=int, num_threads=1)

    def decode(self, rows: Sequence[Sequence[int]], *, reader: int = 0) -> list[str]:
        """See `Vocabulary`."""
        return self.processor.decode([[int(id) for id in row] for row in rows], num_threads=1)

    def piece(self, id: int) -> str:
        """See `Vocabulary`."""
        return self.spec.pieces[id].text

    @property
    def unnumbered(self) -> frozenset[str]:
        """None: ids are those of the pieces."""
        return frozenset()

    def with_ancestors(self, ids: Collection[int]) -> set[int]:
        """See `Vocabulary`."""
        if self.algorithm == "unigram":
            return {*ids}
        needed = ancestors((self.piece(id) for id in ids if id not in self.protected), self._rank)
        return {*ids, *(self.ids[each] for each in needed if each in self.ids)}

    def by_usefulness(self) -> list[int]:
        """See `Vocabulary`: by score, which in BPE is the order in which pieces were found."""
        ordinary = [id for id in range(self.num_ids) if id not in self.protected]
        return sorted(ordinary, key=lambda id: (-self.spec.pieces[id].score, id))

    def trimmed(self, kept: Sequence[int]) -> "SentencePieceVocabulary":
        """See `Vocabulary`."""
        pieces = [self.spec.pieces[id] for id in kept]
        return self._with([(each.text, each.score, _TYPES[each.sort]) for each in pieces])

    def without(self, pieces: Collection[str]) -> "SentencePieceVocabulary":
        """Without these ordinary pieces, for tokenizers that number them in another file."""
        kept = [id for id in range(self.num_ids) if id in self.protected or self.piece(id) not in pieces]
        return self.trimmed(kept)

    def propose(self, lines: Sequence[str], number: int, *, taken: Collection[str] = ()) -> Proposal:
        """`number` new pieces, those first that shorten these lines most; none of those that are `taken` elsewhere."""
        words = self._words(lines)
        held = {piece for piece in self._scores if len(piece) == 1}
        characters = missing_characters(words, {*held, *taken}, most=number // 2)
        proposal = proposed(
            split_rows(words, self._split, alone=characters, held=held),
            int(number * SURPLUS) + 8 if self.algorithm == "unigram" else number,
            characters=characters,
            known=[*(each.text for each in self.spec.pieces), *taken],
            join=str.__add__,
            allowed=one_kind,
        )
        if self.algorithm != "unigram":
            return proposal
        split = unigram_splitter({**self._scores, **scored(proposal, self._scores)})
        return most_used(proposal, words, number, split=split)

    def scored(self, proposal: Proposal) -> list[tuple[str, float]]:
        """New pieces with their scores: of a unigram model see `piece_training.scored`; in BPE they are joined after
        all pieces that there were, in their own order."""
        if self.algorithm == "unigram":
            return [*scored(proposal, self._scores).items()]
        lowest = min((each.score for each in self.spec.pieces if each.sort == "normal"), default=0.0)
        pieces = [*proposal.characters, *(each.piece for each in proposal.merges)]
        return [(piece, lowest - 1 - rank) for rank, piece in enumerate(pieces)]

    def with_pieces(self, scored_pieces: Sequence[tuple[str, float]]) -> "SentencePieceVocabulary":
        """These pieces after those that there are."""
        old = [(each.text, each.score, _TYPES[each.sort]) for each in self.spec.pieces]
        return self._with([*old, *((piece, score, NORMAL) for piece, score in scored_pieces)])

    def extended(
        self, texts: Sequence[Text], number: int
    ) -> "tuple[SentencePieceVocabulary, VocabularyChange]":
        """See `Vocabulary`: new ids come after all others."""
        new = self.scored(self.propose([line for text in texts for line in text.lines], number))
        change = VocabularyChange((*range(self.num_ids), *(self.spelled(piece) for piece, _ in new)))
        return self.with_pieces(new), change

    def spelled(self, piece: str) -> tuple[int, ...]:
        """Ids of the pieces, or of the bytes, that stand for a new piece so far; none for what is unknown."""
        found: list[int] = []
        run = ""
        for character in [*piece, ""]:
            if character and character in self._scores:
                run += character
                continue
            found += [self.ids[each] for each in (self._split(run) or []) if each in self.ids] if run else []
            run = ""
            found += [
                id for byte in character.encode() if (id := self.ids.get(f"<0x{byte:02X}>")) is not None
            ]
        return tuple(found)

    def write(self, folder: Path) -> None:
        """See `Vocabulary`."""
        (folder / self.file).write_bytes(self.model)

    @cached_property
    def ids(self) -> dict[str, int]:
        """Ids by piece."""
        return {each.text: id for id, each in enumerate(self.spec.pieces)}

    @cached_property
    def _protected(self) -> frozenset[int]:
        return frozenset(id for id, each in enumerate(self.spec.pieces) if each.sort != "normal")

    @cached_property
    def _scores(self) -> dict[str, float]:
        return {each.text: each.score for each in self.spec.pieces if each.sort in ("normal", "user")}

    @cached_property
    def _split(self) -> Split:
        if self.algorithm == "unigram":
            return unigram_splitter(self._scores)
        return lambda word: bpe_split(word, self._rank)[0]

    def _rank(self, left: str, right: str) -> float | None:
        score = self._scores.get(left + right)
        return None if score is None else -score

    def _words(self, lines: Sequence[str]) -> Counter[str]:
        words: Counter[str] = Counter()
        for line in lines:
            words.update(words_of(self.processor.normalize(line), behind=self.spec.space_behind))
        return words

    def _with(self, pieces: Sequence[tuple[str, float, int]]) -> "SentencePieceVocabulary":
        told = b"".join(
            bytes_field(_PIECES, piece_message(text, kind, score)) for text, score, kind in pieces
        )
        for number, value in fields(self.model):
            assert isinstance(value, bytes), "all fields of a model are messages"
            if number not in (_PIECES, _SELF_TEST):
                # Of a number that is written twice the last one holds.
                more = number_field(_SIZE, len(pieces)) if number == _TRAINER else b""
                told += bytes_field(number, value + more)
        return SentencePieceVocabulary(told, self.file)
