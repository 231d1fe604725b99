"""A sentencepiece model whose ids carry source factors: the pieces of a word, each with the values of the word.

An id stands for a piece and for one value of each factor, as digits of a number: `piece + pieces * (first + firsts *
(second + ...))`. So a source stays one row of ids on its way through order, caches, workers, packs and checkpoints, and
the model takes the digits apart where it embeds them. The first value of each factor belongs to what is no word, so
tags and the end symbol keep the ids that they have without factors.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np

from trimtab.config.source_factors import CaseFactor, SourceFactor
from trimtab.data.cache import committed
from trimtab.data.input_file import open_input
from trimtab.data.sentencepiece_model import SentencePiece
from trimtab.data.source_factors import Case, case_of, in_lower_case, split_words, text_of_words
from trimtab.data.words import begins_word, num_words, words_of
from trimtab.errors import input_error
from trimtab.types import Ragged

FACTORS_FILE = "source_factors.json"
NO_WORD, UNKNOWN = "", "unknown"
"""The first values of a factor from files: of tags and the end symbol, and of words whose value was not in training."""
MOST_VALUES = 10_000
_MOST_IDS = 2**31


@dataclass(frozen=True, slots=True)
class Factor:
    """A factor of a run, with its values in the order of their numbers."""

    name: str
    kind: str
    values: tuple[str, ...]
    combine: str
    dim: int | None
    lowercase: bool = False


class FactoredPieces(SentencePiece):
    """`types.Tokenizer` for sources with factors. Lines have the values of those that are read from files behind their
    words, `word|value`; the case of a word is computed. `num_ids` counts pieces, as everywhere; ids are larger."""

    def __init__(self, model: bytes, factors: Sequence[Factor], *, symbols: Sequence[str] = ()) -> None:
        super().__init__(model, symbols=symbols)
        self.factors = tuple(factors)
        described = json.dumps([asdict(each) for each in self.factors], ensure_ascii=False)
        self.fingerprint = hashlib.sha256(f"{self.fingerprint} {described}".encode()).hexdigest()
        self._begins = begins_word(self)
        self._columns = sum(each.kind == "file" for each in self.factors)
        self._lowercase = any(each.lowercase for each in self.factors)
        self._numbers = [{value: number for number, value in enumerate(each.values)} for each in self.factors]

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """Ids of each line, end symbol included; InputError for a word without its values, and half characters."""
        return self.encode_by(super().encode, lines)

    def encode_by(
        self, split: Callable[[Sequence[str]], list[list[int]]], lines: Sequence[str]
    ) -> list[list[int]]:
        """The same, where `split` gives the pieces of each line, end symbol included."""
        words = [split_words(line, self._columns) for line in lines]
        rows = split([self.text(line) for line in lines])
        return [self._factored(row, line) for row, line in zip(rows, words, strict=True)]

    def text(self, line: str) -> str:
        """What is split into pieces: the words alone, in lower case where the factors say so."""
        return text_of_words(line, count=self._columns, lowercase=self._lowercase)

    def decode(self, rows: Sequence[Sequence[int]]) -> list[str]:
        """Text of the pieces of each row, without factors."""
        return super().decode([[int(each) % self.num_ids for each in row] for row in rows])

    def piece(self, id: int) -> str:
        """How the piece of an id is spelled."""
        return super().piece(id % self.num_ids)

    def values(self, id: int) -> tuple[str, ...]:
        """The value of each factor in an id."""
        rest, found = id // self.num_ids, list[str]()
        for each in self.factors:
            rest, number = divmod(rest, len(each.values))
            found.append(each.values[number])
        return tuple(found)

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self.model, self.factors, self.symbols)

    def _factored(self, row: list[int], words: Sequence[Sequence[str]]) -> list[int]:
        """The ids of a line with the factors of the words that their pieces belong to."""
        ids = np.asarray(row, np.int64)
        belongs = words_of(ids, self._begins)
        if num_words(belongs) != len(words) or (belongs[:-1] < 0).any():
            # Where the model makes or loses a space, such as for a word of zero width, words are split one by one.
            one_by_one = [in_lower_case(word) if self._lowercase else word for word, *_ in words]
            parts = super().encode(one_by_one)
            ids = np.array([id for part in parts for id in part[:-1]] + [self.end], np.int64)
            belongs = np.repeat(np.arange(len(words)), [len(part) - 1 for part in parts])
            belongs = np.append(belongs, -1)
        # The last is for what is no word.
        added = np.array([self._offset(word) for word in words] + [0], np.int64)
        return (ids + self.num_ids * added[belongs]).tolist()

    def _offset(self, word: Sequence[str]) -> int:
        """The values of a word as one number."""
        text, *columns = word
        given, offset, scale = iter(columns), 0, 1
        for each, numbers in zip(self.factors, self._numbers, strict=True):
            value = case_of(text) if each.kind == "case" else next(given)
            offset += scale * numbers.get(value, numbers.get(UNKNOWN, 0))
            scale *= len(numbers)
        return offset


def _again(model: bytes, factors: tuple[Factor, ...], symbols: tuple[str, ...]) -> FactoredPieces:
    return FactoredPieces(model, factors, symbols=symbols)


def pieces_alone(rows: Ragged, num_ids: int) -> Ragged:
    """The rows without the factors in their ids."""
    return Ragged(rows.values % num_ids, rows.offsets)


def plan_factors(configs: Sequence[SourceFactor], lines: Iterable[str]) -> tuple[Factor, ...]:
    """The factors of a recipe with their values: those in the lines, most frequent first. InputError for more than
    `MOST_VALUES` of one, as of a file that holds words in place of their classes."""
    names = [each.name for each in configs if not isinstance(each, CaseFactor)]
    counts = [Counter[str]() for _ in names]
    if names:
        for line in lines:
            for _, *values in split_words(line, len(names)):
                for count, value in zip(counts, values, strict=True):
                    count[value] += 1
    found = dict(zip(names, counts, strict=True))
    for name, count in found.items():
        if len(count) > MOST_VALUES:
            raise input_error(
                f"factors.{name}: too many different values for a source factor",
                got=f"{len(count):,} values, such as {', '.join([*count][:3])}",
                allowed=f"at most {MOST_VALUES:,}",
                fix="name files of classes, such as parts of speech, not of words",
            )
    return tuple(_factor(each, found.get(each.name, Counter())) for each in configs)


def _factor(config: SourceFactor, counts: Counter[str]) -> Factor:
    if isinstance(config, CaseFactor):
        return Factor(config.name, config.kind, get_args(Case), config.combine, config.dim, config.lowercase)
    ranked = sorted(counts, key=lambda value: (-counts[value], value))
    return Factor(config.name, config.kind, (NO_WORD, UNKNOWN, *ranked), config.combine, config.dim)


def factored(pieces: SentencePiece, factors: Sequence[Factor]) -> FactoredPieces:
    """The tokenizer with factors; InputError where there are more combinations than ids have room for."""
    combined = pieces.num_ids
    for each in factors:
        combined *= len(each.values)
    if combined > _MOST_IDS:
        sizes = ", ".join(f"{each.name}: {len(each.values):,}" for each in factors)
        raise input_error(
            "data.source_factors: too many combinations of values",
            got=f"{sizes}, and {pieces.num_ids:,} pieces",
            allowed="a product below 2^31",
            fix="leave a factor out, or give it fewer values",
        )
    return FactoredPieces(pieces.model, factors, symbols=pieces.symbols)


def ordered_files(files: Mapping[str, Any], factors: Sequence[Factor]) -> dict[str, str]:
    """The files of factors by their names in the order of the model; InputError where others are given than it reads
    from files."""
    wanted = [each.name for each in factors if each.kind == "file"]
    if {*wanted} != {*files}:
        raise input_error(
            "--factors: not the source factors of this model",
            got=", ".join(files),
            allowed=", ".join(wanted) or "none: the model reads no factors from files",
            fix=f"give {' '.join(f'--factors {each}=FILE' for each in wanted)}"
            if wanted
            else "leave --factors out",
        )
    return {each: str(files[each]) for each in wanted}


def store_factors(factors: Sequence[Factor], folder: Path) -> None:
    """Writes them into a run's `tokenizer/`."""
    folder.mkdir(parents=True, exist_ok=True)
    with committed(folder / FACTORS_FILE) as file:
        file.write(
            (json.dumps([asdict(each) for each in factors], indent=1, ensure_ascii=False) + "\n").encode()
        )


def load_factors(folder: Path) -> tuple[Factor, ...]:
    """Those of a run's `tokenizer/`, none where it has none; InputError for a damaged file."""
    path = folder / FACTORS_FILE
    if not path.exists():
        return ()
    with open_input(path) as file:
        content = file.read()
    try:
        told: Any = json.loads(content)
        found = tuple(_stored(each) for each in told)
        if not all(each.name and each.values for each in found):
            raise ValueError("a factor without name or values")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise input_error(
            f"{path}: not the file that trimtab writes with source factors",
            got=f"{type(error).__name__}: {error}"[:200],
            fix="restore the file from a copy of the run",
        ) from None
    return found


def _stored(told: Any) -> Factor:
    dim = told["dim"]
    return Factor(
        str(told["name"]),
        str(told["kind"]),
        tuple(map(str, told["values"])),
        str(told["combine"]),
        None if dim is None else int(dim),
        bool(told["lowercase"]),
    )
