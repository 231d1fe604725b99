"""Sentencepiece models taken apart and put together: a vocabulary in another order, or with pieces more."""

import struct
from collections.abc import Callable, Iterator


def with_pieces(model: bytes, change: Callable[[list[bytes]], list[bytes]]) -> bytes:
    """The model with another list of pieces, each as the protobuf message that it is (field 1 of the model)."""
    fields = list(_fields(model))
    pieces = [content for number, content, _ in fields if number == 1]
    rest = b"".join(whole for number, _, whole in fields if number != 1)
    return b"".join(b"\x0a" + _varint(len(piece)) + piece for piece in change(pieces)) + rest


def piece(text: str, *, score: float) -> bytes:
    """An ordinary piece: its text (field 1) and its score (field 2)."""
    spelled = text.encode()
    return b"\x0a" + _varint(len(spelled)) + spelled + b"\x15" + struct.pack("<f", score)


def _fields(message: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    """Number, content and whole of each field; all of a model's are messages with a length."""
    at = 0
    while at < len(message):
        start = at
        key, at = _read_varint(message, at)
        assert key & 7 == 2, "a field of another kind"
        size, at = _read_varint(message, at)
        yield key >> 3, message[at : at + size], message[start : at + size]
        at += size


def _read_varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        value, shift, at = value | (byte & 127) << shift, shift + 7, at + 1
        if byte < 128:
            return value, at


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])
