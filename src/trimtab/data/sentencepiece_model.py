"""A sentencepiece model as the tokenizer of a run: text to ids that end with the end symbol, and back.

Tags such as `<ui>` are *control* pieces of the models trained here: they have an id, but no text ever becomes it, so a
`<ui>` in a user's sentence is spelled in ordinary pieces. Only `encode_with_tags` puts them in.
(`user_defined_symbols`, the more common choice, turn the same characters in any text into the tag, without a word.)
"""

import difflib
import hashlib
import json
import re
from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from typing import Any, Literal

import numpy as np
from sentencepiece import SentencePieceProcessor, set_min_log_level

from trimtab.data.input_file import open_input
from trimtab.errors import input_error, reading

MODEL_FILE = "sentencepiece.model"
CARD_FILE = "tokenizer.json"

MOST_NAMED = 30
"""Tags that a message lists."""
_PIECES = ("pad", "bos", "eos")
_ERRORS_ONLY = 2
# Everything that some reader takes for the end of a line (str.splitlines), so that a translation stays one line.
LINE_ENDS = re.compile("[\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029]+")


class SentencePiece:
    """`types.Tokenizer` on a sentencepiece model; pickled as the bytes of the model.

    `symbols` are the tags of the vocabulary; a model from elsewhere may hold them as user-defined pieces, and then
    their spelling in a text does become the tag.
    """

    def __init__(self, model: bytes, *, symbols: Sequence[str] = (), name: str = MODEL_FILE) -> None:
        self.model = model
        self.fingerprint = hashlib.sha256(model).hexdigest()
        self._processor = _load(model, name=name)
        self.num_ids: int = self._processor.vocab_size()
        self.pad: int = self._processor.pad_id()
        self.unknown: int = self._processor.unk_id()
        self.start: int = self._processor.bos_id()
        self.end: int = self._processor.eos_id()
        self.symbols = tuple(symbols) or self._control_pieces()
        self.is_byte = np.array([self._processor.is_byte(id) for id in range(self.num_ids)], bool)
        """For each id, whether it is a single byte of what has no piece of its own (byte fallback)."""

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """Ids of each line, end symbol included; InputError for half characters (lone surrogates)."""
        try:
            # One thread: workers are processes already, and a pool for every call costs more than it gives.
            return self._processor.encode(list(lines), out_type=int, add_eos=True, num_threads=1)
        except (TypeError, UnicodeEncodeError):
            _refuse_half_characters(lines)
            raise

    def encode_with_tags(self, lines: Sequence[str], tags: Sequence[str]) -> list[list[int]]:
        """Ids of the tags, then ids of the line, end symbol included; InputError for a tag without an id."""
        before = [self.id(tag) for tag in tags]
        rows = self.encode(lines)
        return [before + row for row in rows] if before else rows

    @property
    def processor(self) -> SentencePieceProcessor:
        """The library's own object."""
        return self._processor

    def normalized(self, lines: Sequence[str]) -> list[str]:
        """Each line as the model splits it, `▁` for spaces; InputError for half characters."""
        try:
            return [self._processor.normalize(line) for line in lines]
        except (TypeError, RuntimeError, UnicodeEncodeError):
            _refuse_half_characters(lines)
            raise

    def nbest(self, line: str, n: int) -> list[list[int]]:
        """The `n` best splits of a line under a unigram model, best first, without the end symbol."""
        try:
            return self._processor.nbest_encode_as_ids(line, nbest_size=n)
        except (TypeError, RuntimeError, UnicodeEncodeError):
            _refuse_half_characters([line])
            raise

    @property
    def algorithm(self) -> Literal["unigram", "bpe", "word or character"]:
        """How the model splits lines."""
        # Only a unigram model ranks splits, and of the others only BPE draws one.
        try:
            self._processor.nbest_encode("a", nbest_size=2)
        except RuntimeError:
            pass
        else:
            return "unigram"
        try:
            self._processor.sample_encode_as_ids("a", -1, 0.1)
        except RuntimeError:
            return "word or character"
        return "bpe"

    def decode(self, rows: Sequence[Sequence[int]]) -> list[str]:
        """Text of each row of ids, without tags and special symbols; never holds anything that ends a line."""
        texts = self._processor.decode([[int(each) for each in row] for row in rows], num_threads=1)
        return [LINE_ENDS.sub(" ", text) for text in texts]

    def piece(self, id: int) -> str:
        """How an id is spelled in the vocabulary, such as `▁the`."""
        return self._processor.id_to_piece(id)

    def id(self, piece: str, *, tags: Sequence[str] | None = None) -> int:
        """The id of a piece; InputError with `tags`, or all symbols, the nearest first, if there is none."""
        found = self._processor.piece_to_id(piece)
        if found == self.unknown and piece != self.piece(self.unknown):
            known = self.symbols if tags is None else tags
            near = list(dict.fromkeys([*difflib.get_close_matches(piece, known), *known]))
            named = ", ".join(near[:MOST_NAMED]) + " ..." * (len(near) > MOST_NAMED)
            raise input_error(
                f"the vocabulary has no piece {piece!r}",
                got=piece,
                allowed=f"its tags are {named}" if near else "it has no tags",
                fix="a tokenizer must know its tags when it is trained: train another with "
                f"`trimtab tokenizer train --tag {quote(piece)}`, or drop this one",
            )
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self.model, self.symbols)

    def _control_pieces(self) -> tuple[str, ...]:
        special = (self.pad, self.start, self.end)
        is_control = self._processor.is_control
        return tuple(self.piece(id) for id in range(self.num_ids) if is_control(id) and id not in special)


def load_tokenizer(folder_or_file: Path) -> SentencePiece:
    """The tokenizer of a run folder's `tokenizer/`, or any sentencepiece model file with start, end and padding.

    Raises InputError if it is missing, damaged, or not the one that `tokenizer.json` beside it speaks of.
    """
    with reading(folder_or_file):
        file = folder_or_file / MODEL_FILE if folder_or_file.is_dir() else folder_or_file
        with open_input(file) as opened:
            model = opened.read()
        card = _read_card(file.parent / CARD_FILE) if file.name == MODEL_FILE else {}
    found = hashlib.sha256(model).hexdigest()
    # Before it is parsed: of a file that is damaged it helps to know that it is not the one.
    if (said := card.get("fingerprint", found)) != found:
        raise input_error(
            f"{file}: not the tokenizer that was stored here",
            got=f"sha256 {found[:16]}",
            allowed=f"{str(said)[:16]}, as {CARD_FILE} says",
            fix="restore the file from a copy, or name another tokenizer",
        )
    return SentencePiece(model, symbols=card.get("symbols", ()), name=str(file))


def _refuse_half_characters(lines: Sequence[str]) -> None:
    for number, line in enumerate(lines, start=1):
        try:
            line.encode()
        except UnicodeEncodeError as error:
            raise input_error(
                f"line {number} of {len(lines)} contains a lone surrogate and cannot be encoded",
                got=f"{line[error.start]!a} at character {error.start + 1}",
                allowed="whole characters, no lone \\ud800 to \\udfff",
                fix="leave it out, or write the whole character",
            ) from None


def _again(model: bytes, symbols: tuple[str, ...]) -> SentencePiece:
    return SentencePiece(model, symbols=symbols)


def load_processor(model: bytes, *, name: str) -> SentencePieceProcessor:
    """The library's object of a model's bytes; InputError if they are none."""
    # Of the whole process, and each worker is one: the best splits of a long line come with a warning for each search
    # that was cut short, which nobody can do anything about.
    set_min_log_level(_ERRORS_ONLY)
    processor = SentencePieceProcessor()
    try:
        processor.LoadFromSerializedProto(model)
    except RuntimeError:
        raise input_error(
            f"{name}: not a sentencepiece model, or a damaged one",
            got=f"{len(model):,} bytes",
            allowed="a file written by sentencepiece, usually called *.model",
            fix="name another file, or leave data.tokenizer.path out to train one",
        ) from None
    return processor


def _load(model: bytes, *, name: str) -> SentencePieceProcessor:
    processor = load_processor(model, name=name)
    found = {"pad": processor.pad_id(), "bos": processor.bos_id(), "eos": processor.eos_id()}
    if missing := [piece for piece in _PIECES if found[piece] < 0]:
        raise input_error(
            f"{name}: the sentencepiece model has no {' and no '.join(missing)} piece",
            got=f"a model of {processor.get_piece_size():,} pieces without {' and '.join(missing)}",
            allowed="a model with pad, bos (start) and eos (end)",
            fix="train it with --pad_id=0 --unk_id=1 --bos_id=2 --eos_id=3, or let the run train one",
        )
    return processor


def _read_card(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}
    with open_input(path) as file:
        try:
            card = json.loads(file.read())
        except (ValueError, RecursionError) as error:
            got = "brackets too deep" if isinstance(error, RecursionError) else str(error)
            raise input_error(f"{path}: not valid JSON", got=got, fix="restore or delete the file") from None
    symbols = card.get("symbols", []) if isinstance(card, dict) else None
    if not isinstance(symbols, list) or not all(isinstance(each, str) for each in symbols):
        raise input_error(
            f"{path}: not the file that trimtab writes with a tokenizer", fix="restore or delete the file"
        )
    return card
