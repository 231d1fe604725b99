"""Surgery on `tokenizer.json`, the file of Hugging Face's tokenizers: BPE, unigram and WordPiece models."""

import copy
import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from trimtab.errors import input_error
from trimtab.vocabulary.change import VocabularyChange
from trimtab.vocabulary.merges import LONGEST, one_kind
from trimtab.vocabulary.piece_training import (
    SURPLUS,
    Split,
    most_used,
    proposed,
    scored,
    split_rows,
    unigram_splitter,
)
from trimtab.vocabulary.split import ancestors, bpe_split, wordpiece_split, words_of
from trimtab.vocabulary.vocabulary import Proposal, Text, missing_characters

KINDS = {"BPE": "BPE", "Unigram": "unigram", "WordPiece": "WordPiece"}


@dataclass(frozen=True)
class FastVocabulary:
    """See `Vocabulary`; ids are the file's own."""

    content: bytes
    file: str = "tokenizer.json"
    """Where in a folder it is written."""
    special: frozenset[int] = frozenset()
    """Ids that a model needs besides those that the file marks."""

    @cached_property
    def tree(self) -> dict[str, Any]:
        """The file."""
        return json.loads(self.content)

    @property
    def _model(self) -> dict[str, Any]:
        return self.tree["model"]

    @cached_property
    def processor(self) -> Tokenizer:
        """The library's own object; what is spelled like a special symbol in a text is text to it."""
        made = Tokenizer.from_str(self.content.decode("utf-8"))
        made.no_padding()
        made.no_truncation()
        made.encode_special_tokens = True
        return made

    @property
    def algorithm(self) -> str:
        """BPE, unigram or WordPiece; InputError for others, and for marks at the ends of words."""
        kind = self._model.get("type", "BPE" if "merges" in self._model else "")
        odd = [key for key in ("end_of_word_suffix", "continuing_subword_prefix") if self._model.get(key)]
        if kind not in KINDS or (kind == "BPE" and odd):
            raise input_error(
                f"{self.file}: its pieces cannot be changed",
                got=f"{kind or 'an unknown kind'}{' with ' + odd[0] if odd and kind == 'BPE' else ''}",
                allowed="BPE without marks at the ends of words, unigram or WordPiece",
            )
        return KINDS[kind]

    @cached_property
    def ids(self) -> dict[str, int]:
        """Ids by piece, added tokens among them."""
        return self.processor.get_vocab(with_added_tokens=True)

    @property
    def num_ids(self) -> int:
        """One more than the last id."""
        return max(self.ids.values()) + 1

    @property
    def readers(self) -> int:
        """See `Vocabulary`."""
        return 1

    @property
    def protected(self) -> frozenset[int]:
        """Added tokens, bytes, the alphabet of byte-level BPE, and what stands for the unknown."""
        return self._protected

    @cached_property
    def is_byte_level(self) -> bool:
        """Whether pieces are spelled in bytes, each shown as a letter (GPT-2)."""
        return any(each.get("type") == "ByteLevel" for each in _steps(self.tree.get("pre_tokenizer")))

    def encode(self, lines: Sequence[str], *, reader: int = 0) -> list[list[int]]:
        """See `Vocabulary`."""
        return [each.ids for each in self.processor.encode_batch([*lines], add_special_tokens=False)]

    def decode(self, rows: Sequence[Sequence[int]], *, reader: int = 0) -> list[str]:
        """See `Vocabulary`."""
        return [self.processor.decode([int(id) for id in row], skip_special_tokens=False) for row in rows]

    def piece(self, id: int) -> str:
        """See `Vocabulary`."""
        return self._pieces.get(id, "")

    @property
    def unnumbered(self) -> frozenset[str]:
        """None: ids are those of the pieces."""
        return frozenset()

    def with_ancestors(self, ids: Collection[int]) -> set[int]:
        """See `Vocabulary`."""
        if self.algorithm != "BPE":
            return {*ids}
        needed = ancestors((self.piece(id) for id in ids if id not in self._added), self._rank)
        return {*ids, *(self.ids[each] for each in needed if each in self.ids)}

    def by_usefulness(self) -> list[int]:
        """See `Vocabulary`: by score, or as they are numbered, which is the order in which BPE and WordPiece find
        them; what a tokenizer does not know as a piece comes last."""
        ordinary = [id for id in self._pieces if id not in self.protected]
        if self.algorithm == "unigram":
            return sorted(ordinary, key=lambda id: (-self._scores[self.piece(id)], id))
        if self.algorithm == "BPE":
            unmade = {id for id in ordinary if bpe_split(self.piece(id), self._rank)[0] != [self.piece(id)]}
            return sorted(ordinary, key=lambda id: (id in unmade, id))
        return sorted(ordinary)

    def trimmed(self, kept: Sequence[int]) -> "FastVocabulary":
        """See `Vocabulary`."""
        new = {old: number for number, old in enumerate(kept)}
        tree = self._renumbered(new)
        model = tree["model"]
        if self.algorithm == "unigram":
            rows = self._model["vocab"]
            model["vocab"] = [rows[old] for old in kept if old < len(rows)]
            if model.get("unk_id") is not None:
                model["unk_id"] = new[model["unk_id"]]
        else:
            model["vocab"] = {
                piece: new[old]
                for piece, old in sorted(self._model["vocab"].items(), key=lambda each: each[1])
                if old in new
            }
        if self.algorithm == "BPE":
            there = model["vocab"]
            model["merges"] = [
                merge
                for merge, (left, right) in zip(self._model["merges"], self._merges, strict=True)
                if left in there and right in there and left + right in there
            ]
        return self._with(tree, new)

    def propose(self, lines: Sequence[str], number: int) -> Proposal:
        """`number` new pieces, those first that shorten these lines most."""
        words, prefix = self._words(lines), self._prefix
        held = {*byte_alphabet()} if self.is_byte_level else {*self._plain}
        characters = missing_characters(words, held, most=number // 2, prefix=prefix)
        proposal = proposed(
            self._rows(words, characters),
            number if self.algorithm == "BPE" else int(number * SURPLUS) + 8,
            characters=characters,
            known=self.ids,
            join=lambda left, right: left + right.removeprefix(prefix),
            # Its pre-tokenizer has cut letters from digits where it was to.
            allowed=(lambda piece: len(piece) <= LONGEST) if self.is_byte_level else self._allowed,
        )
        if self.algorithm == "BPE":
            return proposal
        return most_used(proposal, words, number, split=self._split_with(proposal))

    def extended(self, texts: Sequence[Text], number: int) -> "tuple[FastVocabulary, VocabularyChange]":
        """See `Vocabulary`. New ids come after all others; only in a unigram file with added tokens after its pieces
        do these move, since it numbers pieces by their place."""
        proposal = self.propose([line for text in texts for line in text.lines], number)
        merged = [each.piece for each in proposal.merges]
        pieces = [*proposal.characters, *merged]
        rows = self._model["vocab"]
        first = len(rows) if self.algorithm == "unigram" else self.num_ids
        old = {id: id if id < first else id + len(pieces) for id in range(self.num_ids)}
        tree = self._renumbered(old)
        model = tree["model"]
        if self.algorithm == "unigram":
            told = scored(proposal, self._scores)
            model["vocab"] = [*rows, *([piece, told[piece]] for piece in pieces)]
        else:
            model["vocab"] = {**rows, **{piece: first + place for place, piece in enumerate(pieces)}}
            # Added tokens that are no pieces would be numbered after the new ones.
            model["vocab"] |= {each["content"]: each["id"] for each in _added_tokens(tree)}
        if self.algorithm == "BPE":
            as_text = bool(self._model["merges"]) and isinstance(self._model["merges"][0], str)
            new = [(each.left, each.right) for each in proposal.merges]
            model["merges"] = [
                *self._model["merges"],
                *(" ".join(each) if as_text else [*each] for each in new),
            ]
        spelled = [self.spelled(piece) for piece in pieces]
        origins = (*range(first), *spelled, *range(first, self.num_ids))
        return self._with(tree, old), VocabularyChange(origins)

    def spelled(self, piece: str) -> tuple[int, ...]:
        """Ids of the pieces, or of the bytes, that stand for a new piece so far; none for what is unknown."""
        found: list[int] = []
        run = ""
        inner = piece.removeprefix(self._prefix) if self._prefix else piece
        for character in [*inner, ""]:
            if character and (self.is_byte_level or character in self._plain):
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
        (folder / self.file).write_bytes(self.content)

    @cached_property
    def _protected(self) -> frozenset[int]:
        pieces = {f"<0x{byte:02X}>" for byte in range(256)} | {str(self._model.get("unk_token"))}
        pieces |= {*byte_alphabet()} if self.is_byte_level else set()
        found = {self.ids[piece] for piece in pieces if piece in self.ids}
        found |= {each["id"] for each in _added_tokens(self.tree)}
        unknown = self._model.get("unk_id")
        return frozenset(found | self.special | ({unknown} if unknown is not None else set()))

    @cached_property
    def _pieces(self) -> dict[int, str]:
        return {id: piece for piece, id in self.ids.items()}

    @cached_property
    def _added(self) -> frozenset[int]:
        return frozenset(each["id"] for each in _added_tokens(self.tree))

    @cached_property
    def _plain(self) -> dict[str, int]:
        return {piece: id for piece, id in self.ids.items() if id not in self._added}

    @cached_property
    def _scores(self) -> dict[str, float]:
        rows = enumerate(self._model["vocab"])
        return {
            piece: score for id, (piece, score) in rows if id not in self._added and id not in self._bytes
        }

    @cached_property
    def _bytes(self) -> frozenset[int]:
        return frozenset(id for byte in range(256) if (id := self.ids.get(f"<0x{byte:02X}>")) is not None)

    @cached_property
    def _merges(self) -> list[tuple[str, str]]:
        pairs = (each.split(" ", 1) if isinstance(each, str) else each for each in self._model["merges"])
        return [(left, right) for left, right in pairs]

    @cached_property
    def _ranks(self) -> dict[tuple[str, str], float]:
        return {pair: float(rank) for rank, pair in enumerate(self._merges)}

    def _rank(self, left: str, right: str) -> float | None:
        return self._ranks.get((left, right))

    @property
    def _prefix(self) -> str:
        return self._model.get("continuing_subword_prefix", "##") if self.algorithm == "WordPiece" else ""

    def _allowed(self, piece: str) -> bool:
        return one_kind(piece.removeprefix(self._prefix) if self._prefix else piece)

    @cached_property
    def _split(self) -> Split:
        match self.algorithm:
            case "unigram":
                return unigram_splitter(self._scores)
            case "BPE":
                return lambda word: bpe_split(word, self._rank)[0]
            case _:
                return lambda word: wordpiece_split(word, self._plain, prefix=self._prefix)

    def _rows(self, words: Counter[str], characters: Collection[str]) -> Counter[tuple[str, ...]]:
        if self.algorithm == "WordPiece":
            everything = {**self._plain, **dict.fromkeys(characters, 0)}
            rows: Counter[tuple[str, ...]] = Counter()
            for word, count in words.items():
                rows[tuple(wordpiece_split(word, everything, prefix=self._prefix) or ())] += count
            return rows
        held = {*byte_alphabet()} if self.is_byte_level else {each for each in self._plain if len(each) == 1}
        return split_rows(words, self._split, alone=characters, held=held)

    def _split_with(self, proposal: Proposal) -> Split:
        if self.algorithm == "unigram":
            return unigram_splitter({**self._scores, **scored(proposal, self._scores)})
        pieces = [*proposal.characters, *(each.piece for each in proposal.merges)]
        everything = {**self._plain, **dict.fromkeys(pieces, 0)}
        return lambda word: wordpiece_split(word, everything, prefix=self._prefix)

    def _words(self, lines: Sequence[str]) -> Counter[str]:
        made = self.processor
        words: Counter[str] = Counter()
        for line in lines:
            text = made.normalizer.normalize_str(line) if made.normalizer else line
            parts = (
                [each for each, _ in made.pre_tokenizer.pre_tokenize_str(text)]
                if made.pre_tokenizer
                else [text]
            )
            words.update(word for part in parts for word in (words_of(part) if "▁" in part else [part]))
        return words

    def _renumbered(self, new: Mapping[int, int]) -> dict[str, Any]:
        """The file with new ids wherever it names one, but for the model's own pieces."""
        tree = {key: value for key, value in self.tree.items() if key != "model"}
        tree = copy.deepcopy(tree) | {"model": {**self._model}}
        tree["added_tokens"] = sorted(
            ({**each, "id": new[each["id"]]} for each in _added_tokens(tree)),
            key=lambda each: each["id"],
        )
        if tree.get("padding"):
            tree["padding"]["pad_id"] = new[tree["padding"]["pad_id"]]
        for step in _steps(tree.get("post_processor"), under="processors"):
            symbols: Any = step.get("special_tokens")
            for each in symbols.values() if symbols else ():
                each["ids"] = [new[id] for id in each["ids"]]
            for key in ("sep", "cls"):
                if key in step:
                    step[key][1] = new[step[key][1]]
        return tree

    def _with(self, tree: Mapping[str, Any], new: Mapping[int, int]) -> "FastVocabulary":
        content = json.dumps(tree, ensure_ascii=False, indent=2).encode()
        special = frozenset(new[id] for id in self.special)
        return FastVocabulary(content, self.file, special)


def _added_tokens(tree: Mapping[str, Any]) -> list[dict[str, Any]]:
    found: Any = tree.get("added_tokens")
    return [*found] if found else []


def _steps(part: Any, *, under: str = "pretokenizers") -> list[dict[str, Any]]:
    """The steps of a pre-tokenizer or a post-processor, of which a sequence has several."""
    if not part:
        return []
    return [step for each in part.get(under, ()) for step in _steps(each, under=under)] or [part]


def byte_alphabet() -> str:
    """The letters that stand for the 256 bytes in GPT-2's pieces."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [byte for byte in range(256) if byte not in shown]
    return "".join([*map(chr, shown), *(chr(256 + place) for place in range(len(hidden)))])
