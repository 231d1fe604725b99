"""The characters of a run: read from its training texts or from a file once, then kept in its folder."""

import hashlib
import json
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from trimtab.checkpoint.durable import replace_file
from trimtab.config.images import CharsetConfig
from trimtab.config.tokenizer import PretrainedTokenizer
from trimtab.data.sentencepiece_model import CARD_FILE
from trimtab.data.side_tokenizer import SideTokenizer
from trimtab.data.stored_sides import FILES, adopt_sides, load_side
from trimtab.errors import InputError, Problem, input_error, reading

CHARSET_FILE = "charset.json"
SPECIAL = 4
"""Ids before those of the characters: blank and padding, unknown, start, end."""
MOST_NAMED = 20
"""Characters that a message names."""


@dataclass(frozen=True)
class Charset:
    """All characters; the place of each after the special symbols is its id. See `types.Tokenizer`."""

    characters: tuple[str, ...]
    normalization: str

    pad = 0
    """Also the blank of CTC."""
    unknown = 1
    start = 2
    end = 3

    def __len__(self) -> int:
        return len(self.characters)

    @property
    def num_ids(self) -> int:
        """Characters and special symbols."""
        return SPECIAL + len(self.characters)

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The id of each character."""
        return {character: SPECIAL + number for number, character in enumerate(self.characters)}

    @property
    def fingerprint(self) -> str:
        """sha256 of the characters in their order and of the normalization."""
        return hashlib.sha256(json.dumps([self.normalization, *self.characters]).encode()).hexdigest()

    def normalize(self, text: str) -> str:
        """The text in the Unicode form of the run."""
        return normalized(text, self.normalization)

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """Ids of each line, which is normalized first; end symbol included. What is no character of the set is
        unknown."""
        get = self.numbers.get
        return [[*(get(each, self.unknown) for each in self.normalize(line)), self.end] for line in lines]

    def decode(self, rows: Sequence[Sequence[int]]) -> list[str]:
        """Text of each row of ids; special symbols are left out."""
        names = self.characters
        return ["".join(names[id - SPECIAL] for id in row if id >= SPECIAL) for row in rows]

    def unknown_in(self, text: str) -> set[str]:
        """Characters of a text that the set does not have."""
        return set(self.normalize(text)) - self.numbers.keys()


def normalized(text: str, form: str) -> str:
    """A text in a Unicode form, or as it is with `none`."""
    match form:
        case "nfc" | "nfd" | "nfkc":
            return unicodedata.normalize(form.upper(), text)
        case _:
            return text


@dataclass(frozen=True)
class Pieces:
    """The pieces of a pretrained recognizer's tokenizer in place of characters. See `types.Tokenizer`."""

    tokenizer: SideTokenizer
    normalization: str

    def __len__(self) -> int:
        return self.tokenizer.num_pieces

    @property
    def num_ids(self) -> int:
        """Rows of the model's output."""
        return self.tokenizer.num_ids

    @property
    def pad(self) -> int:
        """Id that fills rows up."""
        return self.tokenizer.pad

    @property
    def unknown(self) -> int:
        """Id of what has no piece."""
        return self.tokenizer.unknown

    @property
    def start(self) -> int:
        """Id that the decoder is fed first; in TrOCR it is that of the end."""
        return self.tokenizer.start

    @property
    def end(self) -> int:
        """Id that ends a text."""
        return self.tokenizer.end

    @property
    def unspelled(self) -> tuple[int, ...]:
        """Ids of rows that no piece has."""
        return self.tokenizer.unspelled

    @property
    def fingerprint(self) -> str:
        """sha256 of the tokenizer and of the normalization."""
        return hashlib.sha256(
            json.dumps([self.normalization, self.tokenizer.fingerprint]).encode()
        ).hexdigest()

    def normalize(self, text: str) -> str:
        """The text in the Unicode form of the run."""
        return normalized(text, self.normalization)

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """Ids of each line, which is normalized first; end symbol included."""
        return self.tokenizer.encode([self.normalize(line) for line in lines])

    def decode(self, rows: Sequence[Sequence[int]]) -> list[str]:
        """Text of each row of ids; special symbols are left out."""
        return self.tokenizer.decode(rows)

    def unknown_in(self, text: str) -> set[str]:
        """Characters of a text that no piece spells."""
        characters = sorted(set(self.normalize(text)) - {" "})
        rows = self.tokenizer.ids(characters)
        return {each for each, row in zip(characters, rows, strict=True) if self.unknown in row}


AnyCharset = Charset | Pieces


def prepare_pieces(tokenizer: PretrainedTokenizer, config: CharsetConfig, *, folder: Path) -> Pieces:
    """The tokenizer in a run's folder; or that of a pretrained recognizer, which is then copied there. Raises
    InputError where there is none or it does not belong to the model."""
    if not (folder / CARD_FILE).exists():
        adopt_sides(tokenizer, {"target": folder}, folder / FILES, task="recognition")
    return load_pieces(folder, normalization=config.normalization)


def load_pieces(folder: Path, *, normalization: str) -> Pieces:
    """The tokenizer in a run's folder; InputError if it is missing or damaged."""
    return Pieces(load_side(folder, folder / FILES), normalization)


def prepare_charset(config: CharsetConfig, texts: Iterable[tuple[str, str]], *, folder: Path) -> Charset:
    """The characters in a run's folder; or those of a file or of the texts, which are then written there.

    `texts` are pairs of a text and its place. Raises InputError with every character that the file lacks, how often and
    where it is first; where texts have a character that cannot be drawn; and where there is no text.
    """
    path = folder / CHARSET_FILE
    known = load_charset(folder) if path.exists() else _of_file(config)
    counts, first = Counter[str](), dict[str, str]()
    for text, place in texts:
        for character, count in Counter(normalized(text, config.normalization)).items():
            counts[character] += count
            first.setdefault(character, place)
    if controls := [each for each in counts if unicodedata.category(each) == "Cc"]:
        raise InputError(
            *(_problem("a control character in a text", each, counts, first) for each in controls)
        )
    if known is None:
        if not counts:
            raise input_error(
                "data.train: the texts have no character",
                got="empty texts alone",
                allowed="a text for each image",
                fix="check that the list names the text after each image",
            )
        known = Charset(tuple(sorted(counts)), config.normalization)
    if strange := sorted(counts.keys() - known.numbers.keys(), key=lambda each: -counts[each]):
        where = "this run" if path.exists() else f"the charset of {config.file}"
        raise InputError(
            *(
                _problem(f"a character that is not in {where}", each, counts, first)
                for each in strange[:MOST_NAMED]
            )
        )
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        told = {"normalization": known.normalization, "characters": list(known.characters)}
        replace_file(path, (json.dumps(told, ensure_ascii=False, indent=1) + "\n").encode())
    return known


def described(character: str) -> str:
    """A character as people see it, with its code point and name: `é (U+00E9 LATIN SMALL LETTER E WITH ACUTE)`."""
    name = unicodedata.name(character, "without a name")
    shown = character if character.isprintable() and not character.isspace() else repr(character)[1:-1]
    return f"{shown} (U+{ord(character):04X} {name})"


def _problem(what: str, character: str, counts: Counter[str], first: dict[str, str]) -> Problem:
    return Problem(
        what=f"data.train: {first[character]}: {what}",
        got=f"{described(character)}, {counts[character]:,} times in the training texts",
        allowed="characters of the set, each on a line of the file" if "charset" in what else "",
        fix="add it to the file, correct the texts, or leave `data.charset.file` out to take every character"
        if "charset" in what
        else "correct the text",
    )


def _of_file(config: CharsetConfig) -> Charset | None:
    if config.file is None:
        return None
    path = Path(config.file)
    with reading(path):
        try:
            lines = path.read_text(encoding="utf-8-sig").splitlines()
        except UnicodeDecodeError as error:
            raise input_error(f"{path}: is not UTF-8", got=str(error), allowed="UTF-8 text") from None
    found = [normalized(line, config.normalization) for line in lines if line]
    long = [(number, line) for number, line in enumerate(found, 1) if len(line) != 1]
    if long or not found:
        number, line = long[0] if long else (1, "")
        raise input_error(
            f"data.charset.file: {path}:{number}: no single character",
            got=repr(line[:40]) if line else "an empty file",
            allowed=f"one character on each line, in the form {config.normalization}",
            fix="write each character on a line of its own",
        )
    # Dictionaries of PaddleOCR leave the space out, which is a setting of its own there.
    return Charset(tuple(sorted({*found, " "})), config.normalization)


def load_written(folder: Path) -> AnyCharset:
    """What a run writes its texts in, by the files in its folder; InputError if they are missing or damaged."""
    if not (folder / CARD_FILE).exists():
        return load_charset(folder)
    return load_pieces(folder, normalization="none")


def load_charset(folder: Path) -> Charset:
    """The characters in a run's folder; InputError if they are missing or damaged."""
    path = folder / CHARSET_FILE
    with reading(path):
        text = path.read_text(encoding="utf-8")
    try:
        told = json.loads(text)
        characters, form = tuple(told["characters"]), told["normalization"]
        sound = all(isinstance(each, str) and len(each) == 1 for each in characters) and isinstance(form, str)
    except (ValueError, TypeError, KeyError):
        sound, characters, form = False, (), ""
    if not sound:
        raise input_error(
            f"{path}: no list of characters",
            got=text[:60],
            allowed="a JSON object with `characters` and `normalization`",
            fix="restore the file of this run",
        )
    return Charset(characters, form)
