"""What a sentencepiece model says of itself, read from its file: pieces, and how text is normalised.

The library gives ids and pieces but not the normalisation. Numbers of fields: `sentencepiece_model.proto`.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Sort = Literal["normal", "unknown", "control", "user", "unused", "byte"]
_SORTS: tuple[Sort, ...] = ("normal", "unknown", "control", "user", "unused", "byte")
_MODELS: dict[int, Literal["unigram", "bpe"]] = {1: "unigram", 2: "bpe"}


@dataclass(frozen=True, slots=True)
class PieceSpec:
    """One piece of the vocabulary."""

    text: str
    score: float
    sort: Sort = "normal"


@dataclass(frozen=True, slots=True)
class SentencePieceSpec:
    """A model as its file describes it."""

    pieces: tuple[PieceSpec, ...]
    """By id."""
    model: Literal["unigram", "bpe"] | None
    """How text is split; None for words and characters."""
    character_map: bytes
    """What characters are replaced by before anything else, compiled; empty for none."""
    dummy_prefix: bool
    """Whether a space is put before every text."""
    fewer_spaces: bool
    """Whether spaces at the ends are dropped, and of several together all but one."""
    space_behind: bool
    """Whether `▁` ends words, rather than beginning them."""
    spaces_written: bool
    """Whether spaces are written as `▁`."""

    @property
    def is_bytes(self) -> bool:
        """Whether every text is spelled in bytes, since there is nothing else."""
        sorts = [each.sort for each in self.pieces]
        plain = not (self.character_map or self.dummy_prefix or self.fewer_spaces or self.spaces_written)
        return plain and sorts.count("byte") == 256 and not {"normal", "user"} & set(sorts)

    @classmethod
    def of(cls, model: bytes) -> "SentencePieceSpec":
        """The description in a model file, which sentencepiece has read before."""
        pieces: list[PieceSpec] = []
        trainer: dict[int, int | bytes] = {}
        normalizer: dict[int, int | bytes] = {}
        for number, value in fields(model):
            assert isinstance(value, bytes), "all fields of a model are messages"
            match number:
                case 1:
                    pieces.append(_piece(dict(fields(value))))
                case 2:
                    trainer.update(fields(value))
                case 3:
                    normalizer.update(fields(value))
                case _:
                    pass
        kind, table = trainer.get(3, 1), normalizer.get(2, b"")
        assert isinstance(kind, int)
        assert isinstance(table, bytes)
        return cls(
            pieces=tuple(pieces),
            model=_MODELS.get(kind),
            character_map=table,
            dummy_prefix=bool(normalizer.get(3, 1)),
            fewer_spaces=bool(normalizer.get(4, 1)),
            space_behind=bool(trainer.get(24, 0)),
            spaces_written=bool(normalizer.get(5, 1)),
        )


def _piece(told: dict[int, int | bytes]) -> PieceSpec:
    text, score, sort = told.get(1, b""), told.get(2, b"\0\0\0\0"), told.get(3, 1)
    assert isinstance(text, bytes)
    assert isinstance(score, bytes)
    assert isinstance(sort, int)
    return PieceSpec(text.decode(), struct.unpack("<f", score)[0], _SORTS[sort - 1])


def fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Number and value of each field of a protobuf message: a whole number, or the bytes of anything else."""
    at = 0
    while at < len(message):
        key, at = _number(message, at)
        match key & 7:
            case 0:
                value, at = _number(message, at)
                yield key >> 3, value
                continue
            case 1:
                size = 8
            case 2:
                size, at = _number(message, at)
            case 5:
                size = 4
            case kind:
                raise AssertionError(f"no field of kind {kind} in a sentencepiece model")
        yield key >> 3, message[at : at + size]
        at += size


def _number(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        value, shift, at = value | (byte & 127) << shift, shift + 7, at + 1
        if byte < 128:
            return value, at
