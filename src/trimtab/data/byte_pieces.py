"""A tokenizer of bytes: a hand-written sentencepiece model whose only pieces are the 256 bytes.

So everything that reads sentencepiece models reads it too. The numbers of the fields are those of
`sentencepiece_model.proto`; the wire format is that of Protocol Buffers.
"""

import struct
from collections.abc import Sequence

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = 1, 2, 3, 4, 5, 6
"""Types of pieces."""
CHARACTERS = 4
"""The kind of model that splits a text into characters; each is then spelled in bytes."""
_VARINT, _LENGTH, _FLOAT = 0, 2, 5


def byte_model(symbols: Sequence[str]) -> bytes:
    """The model: padding, unknown, start and end, the bytes in their order, and the symbols, which no text becomes."""
    special = (("<pad>", CONTROL), ("<unk>", UNKNOWN), ("<s>", CONTROL), ("</s>", CONTROL))
    pieces = [
        *special,
        *((f"<0x{byte:02X}>", BYTE) for byte in range(256)),
        *((symbol, CONTROL) for symbol in symbols),
    ]
    trainer = {3: CHARACTERS, 4: len(pieces), 35: True, 40: 1, 41: 2, 42: 3, 43: 0}
    # No space before a text, none taken away, and none written as another sign.
    normalizer = bytes_field(1, b"identity") + b"".join(number_field(field, False) for field in (3, 4, 5))
    return b"".join(
        [
            *(bytes_field(1, piece_message(piece, kind)) for piece, kind in pieces),
            bytes_field(2, b"".join(number_field(field, value) for field, value in trainer.items())),
            bytes_field(3, normalizer),
        ]
    )


def with_more(model: bytes, pieces: Sequence[tuple[str, int]]) -> bytes:
    """A model with pieces of these types behind its own, whose ids stay as they are: what follows a message is merged
    with it."""
    return model + b"".join(bytes_field(1, piece_message(piece, kind)) for piece, kind in pieces)


def piece_message(text: str, kind: int, score: float = 0.0) -> bytes:
    """A piece, to be put into a model as its field 1."""
    told = _varint(2 << 3 | _FLOAT) + struct.pack("<f", score)
    return bytes_field(1, text.encode()) + told + number_field(3, kind)


def number_field(field: int, value: int) -> bytes:
    """A field that holds a whole number."""
    return _varint(field << 3 | _VARINT) + _varint(int(value))


def bytes_field(field: int, value: bytes) -> bytes:
    """A field that holds a text or a message."""
    return _varint(field << 3 | _LENGTH) + _varint(len(value)) + value


def _varint(number: int) -> bytes:
    """Seven bits a byte, the lowest first; the high bit says that more follow."""
    out = bytearray()
    while number >= 128:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])
