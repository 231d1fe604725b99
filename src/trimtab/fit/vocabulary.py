"""How many ids the vocabularies of a recipe have, as far as its files say before anything is trained."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, assert_never

from trimtab.config.pretrained.place import GGUF, find_pretrained
from trimtab.config.run import Recipe
from trimtab.config.tokenizer import (
    ByteLevelBpeTokenizer,
    ByteTokenizer,
    PretrainedTokenizer,
    SentencePieceTokenizer,
    SuperBpeTokenizer,
    Tokenizer,
)
from trimtab.errors import unreadable

BYTE_IDS = 260
"""256 bytes and four special symbols."""
CARD = "tokenizer.json"
"""What a stored tokenizer says of itself, beside its file."""
LABELS = 64
"""A recipe does not say how many labels there are; up to so many have one size of matrix."""
MOST_BYTES = 200_000_000


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Ids of each side."""

    source: int
    target: int
    labels: int = LABELS


def vocabulary_of(recipe: Recipe, folder: Path) -> Vocabulary:
    """The ids of both sides; relative paths start from the recipe's folder. InputError where a file is missing."""
    pretrained = recipe.model.vocabulary_size
    target = num_ids(recipe.data.tokenizer, folder) if pretrained is None else pretrained
    own = recipe.data.source_tokenizer
    return Vocabulary(target if own is None else num_ids(own, folder), target)


def num_ids(tokenizer: Tokenizer, folder: Path) -> int:
    """The ids of a tokenizer."""
    match tokenizer:
        case SentencePieceTokenizer():
            if tokenizer.path is None or "vocabulary_size" in tokenizer.model_fields_set:
                return tokenizer.vocabulary_size
            return pieces_in(_model_file(folder / tokenizer.path)) or tokenizer.vocabulary_size
        case ByteLevelBpeTokenizer() | SuperBpeTokenizer():
            if tokenizer.path is None or "vocabulary_size" in tokenizer.model_fields_set:
                return tokenizer.vocabulary_size
            return _ids_of_card(folder / tokenizer.path) or tokenizer.vocabulary_size
        case ByteTokenizer():
            return BYTE_IDS
        case PretrainedTokenizer():
            return tokenizer.vocabulary_size or pieces_of_pretrained(tokenizer.path, folder)
        case _:
            assert_never(tokenizer)


def _model_file(path: Path) -> Path:
    """A file of sentencepiece, or that in a folder which `trimtab tokenizer train` wrote."""
    if not path.is_dir():
        return path
    return next(iter(sorted(path.glob("*.model"))), path / "tokenizer.model")


def _ids_of_card(folder: Path) -> int:
    """The size that the card of a stored tokenizer says; 0 where there is none yet."""
    try:
        return int(json.loads((folder / CARD).read_bytes())["num_ids"])
    except (OSError, ValueError, KeyError, TypeError):
        return 0


def pieces_in(path: Path) -> int:
    """Pieces of a sentencepiece model, which are its fields of number 1, by the wire format of protocol buffers; 0
    where there is no such file yet or it is another."""
    try:
        data = path.read_bytes()
    except OSError:
        return 0
    count = place = 0
    try:
        while place < len(data):
            tag, place = _varint(data, place)
            match tag & 7:
                case 0:
                    _, place = _varint(data, place)
                case 1:
                    place += 8
                case 2:
                    size, place = _varint(data, place)
                    place += size
                    count += tag >> 3 == 1
                case 5:
                    place += 4
                case _:
                    return 0
    except IndexError:
        return 0
    return count


def _varint(data: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[place]
        place += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, place
        shift += 7


def pieces_of_pretrained(name: str, folder: Path) -> int:
    """Ids of tokenizer.json, or of a GGUF file."""
    place = find_pretrained(name, folder=folder, key="data.tokenizer.path")
    if place.path.suffix == GGUF:
        from trimtab.config.pretrained.gguf_header import read_gguf_header

        return len(read_gguf_header(place.path).settings.get("tokenizer.ggml.tokens") or ())
    path = place.path / "tokenizer.json"
    try:
        with path.open("rb") as file:
            read: Any = json.loads(file.read(MOST_BYTES))
        known: Any = read["model"]["vocab"]  # pieces with their ids, or in the order of their ids
        ids: list[int] = [*known.values()] if hasattr(known, "values") else [*range(len(known))]
        return 1 + max([*ids, *(each["id"] for each in read.get("added_tokens", ()))])
    except OSError as error:
        raise unreadable(error, path) from None
    except (ValueError, KeyError, TypeError, AttributeError):
        return 0
