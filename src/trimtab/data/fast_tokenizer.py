"""A tokenizer of a pretrained model, `tokenizer.json`, as the tokenizer of a run."""

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from trimtab.data.sentencepiece_model import LINE_ENDS, MOST_NAMED
from trimtab.errors import input_error

_HALF_CHARACTER = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecialIds:
    """The ids that have a meaning of their own; some may be the same."""

    pad: int
    unknown: int
    start: int
    end: int


class FastTokenizer:
    """`types.Tokenizer` on the file of Hugging Face's tokenizers; pickled as that file.

    What is spelled like a special symbol in a text is text, as with sentencepiece. Only `encode_chat` reads symbols,
    since a chat template writes them.
    """

    def __init__(
        self,
        content: bytes,
        *,
        special: SpecialIds,
        num_ids: int,
        template: str = "",
        symbols: Sequence[str] = (),
        name: str = "tokenizer.json",
    ) -> None:
        """`symbols` are the tags, which only a vocabulary trained here has. `num_ids` may be more than the tokenizer
        has: ids beyond stand for rows of a model that no text uses. `template` is that of chats, in Jinja. Raises
        InputError if the file is none of such a tokenizer."""
        self.content, self.special, self.num_ids, self.template = content, special, num_ids, template
        self._chat, self._plain = _load(content, name), _load(content, name)
        self._plain.encode_special_tokens = True
        self.pad, self.unknown, self.start, self.end = (
            special.pad,
            special.unknown,
            special.start,
            special.end,
        )
        self.symbols = tuple(symbols)
        # A tokenizer without tags keeps the fingerprint that runs know it by.
        told = json.dumps([asdict(special), num_ids, template, *[self.symbols] * bool(symbols)]).encode()
        self.fingerprint = hashlib.sha256(hashlib.sha256(content).digest() + told).hexdigest()

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """Ids of each text, end symbol included; InputError for half characters (lone surrogates)."""
        return [[*row, self.end] for row in self.ids(lines)]

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Ids of each text alone, nothing before and nothing behind them; InputError for half characters."""
        refuse_half_characters(texts)
        # One after another: workers are processes already.
        return [self._plain.encode(text, add_special_tokens=False).ids for text in texts]

    def encode_with_tags(self, lines: Sequence[str], tags: Sequence[str]) -> list[list[int]]:
        """Ids of the tags, then ids of the line, end symbol included; InputError for a tag without an id."""
        before = [self.id(tag) for tag in tags]
        return [[*before, *row] for row in self.encode(lines)]

    def encode_chat(self, text: str) -> list[int]:
        """Ids of a text that a chat template wrote, its symbols as such, as `apply_chat_template` gives them."""
        refuse_half_characters([text])
        return self._chat.encode(text, add_special_tokens=False).ids

    def decode_with_symbols(self, ids: Sequence[int]) -> str:
        """Text of ids, symbols as they are spelled."""
        return self._plain.decode([int(each) for each in ids], skip_special_tokens=False)

    @cached_property
    def special_ids(self) -> frozenset[int]:
        """Ids of all symbols, those of a chat template among them."""
        return self.added_symbols | {self.end}

    @cached_property
    def added_symbols(self) -> frozenset[int]:
        """Ids of the symbols that the file itself names as such."""
        added = self._plain.get_added_tokens_decoder()
        return frozenset(id for id, token in added.items() if token.special)

    def decode(self, rows: Sequence[Sequence[int]]) -> list[str]:
        """Text of each row of ids, without special symbols; never holds anything that ends a line."""
        return [LINE_ENDS.sub(" ", text) for text in self.decode_exactly(rows)]

    def decode_exactly(self, rows: Sequence[Sequence[int]]) -> list[str]:
        """Text of each row of ids as it is, without special symbols; bytes that are no character become U+FFFD."""
        return [self._plain.decode([int(each) for each in row], skip_special_tokens=True) for row in rows]

    def piece(self, id: int) -> str:
        """How an id is spelled in the vocabulary; ids beyond the vocabulary have no spelling."""
        return self._plain.id_to_token(id) or ""

    def token_to_id(self, piece: str) -> int | None:
        """The id of a piece; None if there is none."""
        return self._plain.token_to_id(piece)

    def id(self, piece: str, *, tags: Sequence[str] | None = None) -> int:
        """The id of a piece; InputError with `tags`, or all symbols, if there is none."""
        return id_of(piece, self.token_to_id(piece), tags=self.symbols if tags is None else tags)

    @cached_property
    def is_byte(self) -> np.ndarray:
        """For each id, whether it is a single byte of what has no piece of its own (byte fallback)."""
        pieces = self._plain.get_vocab(with_added_tokens=True)
        found = np.zeros(self.num_ids, bool)
        found[[id for piece, id in pieces.items() if re.fullmatch(r"<0x[0-9A-F]{2}>", piece)]] = True
        return found

    @property
    def num_pieces(self) -> int:
        """Ids that have a spelling."""
        return self._plain.get_vocab_size(with_added_tokens=True)

    @property
    def highest(self) -> tuple[str, int]:
        """The piece of the highest id, and that id; vocabularies may leave ids out."""
        return max(self._plain.get_vocab(with_added_tokens=True).items(), key=lambda each: each[1])

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self.content, self.special, self.num_ids, self.template, self.symbols)


def _again(
    content: bytes, special: SpecialIds, num_ids: int, template: str, symbols: tuple[str, ...]
) -> FastTokenizer:
    return FastTokenizer(content, special=special, num_ids=num_ids, template=template, symbols=symbols)


def _load(content: bytes, name: str) -> Any:
    try:
        from tokenizers import Tokenizer
    except ModuleNotFoundError as error:
        if error.name != "tokenizers":
            raise
        raise input_error(
            "byte-level and pretrained tokenizers need the package tokenizers, which is not installed",
            got="no tokenizers",
            allowed="tokenizers 0.20 or newer",
            fix='pip install "trimtab[train,export]"',
        ) from None
    try:
        made = Tokenizer.from_str(content.decode("utf-8"))
    except Exception as error:  # the library raises plain exceptions
        raise input_error(
            f"{name}: not a tokenizer that can be read",
            got=" ".join(str(error).split())[:200],
            allowed="the tokenizer.json of a pretrained model",
            fix="copy or download the file again",
        ) from None
    made.no_padding()
    made.no_truncation()
    return made


def id_of(piece: str, found: int | None, *, tags: Sequence[str] = ()) -> int:
    """The id that a tokenizer has found for a piece; InputError if there is none."""
    if found is None:
        raise input_error(
            f"the vocabulary has no piece {piece!r}",
            got=piece,
            allowed=f"its tags are {', '.join(tags[:MOST_NAMED])}"
            if tags
            else "a piece of the tokenizer, which has no tags",
            fix="leave it out",
        )
    return found


def refuse_half_characters(texts: Sequence[str]) -> None:
    """Raises InputError if a text holds a lone surrogate, which no encoding can write."""
    for number, text in enumerate(texts, start=1):
        if not text.isascii() and (found := _HALF_CHARACTER.search(text)):
            raise input_error(
                f"line {number} of {len(texts)} contains a lone surrogate and cannot be encoded",
                got=f"{found[0]!a} at character {found.start() + 1}",
                allowed="whole characters, no lone \\ud800 to \\udfff",
            )
