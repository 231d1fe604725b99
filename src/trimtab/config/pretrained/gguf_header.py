"""The header of a GGUF file: its settings and the names of its tensors, without the weights.

Source: the specification, https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from trimtab.errors import InputError, input_error, unreadable

MAGIC = b"GGUF"
VERSIONS = (2, 3)
MOST_ENTRIES = 10_000_000
"""Items of a list; a vocabulary has some hundred thousand."""
MOST_BYTES = 100_000_000
"""Of one text."""
STRING, LIST = 8, 9
FLOAT32 = "<f"
SCALARS = {
    0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: FLOAT32, 7: "<?", 10: "<Q", 11: "<q", 12: "<d",
}  # fmt: skip
"""Numbers by the code of their type."""


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """What a GGUF file says of itself."""

    settings: dict[str, Any]
    """Its key-value pairs, such as `llama.block_count`."""
    tensors: tuple[str, ...]
    """Names, in the order of the file."""

    @property
    def architecture(self) -> str:
        """Such as `llama`."""
        return str(self.settings.get("general.architecture", ""))


def read_gguf_header(path: Path) -> GgufHeader:
    """The header of a file; InputError if it is no GGUF file, or one that was cut short."""
    try:
        with path.open("rb") as file:
            return _header(file, path)
    except OSError as error:
        raise unreadable(error, path) from None


def _header(file: BinaryIO, path: Path) -> GgufHeader:
    def take(count: int) -> bytes:
        data = file.read(count)
        if len(data) < count:
            raise _damaged(path, "a file that ends within its header")
        return data

    def number(form: str) -> Any:
        return struct.unpack(form, take(struct.calcsize(form)))[0]

    if take(4) != MAGIC:
        raise _damaged(path, "a file that does not begin with GGUF")
    if (version := number("<I")) not in VERSIONS:
        raise _damaged(path, f"version {version} of the format")
    num_tensors, num_settings = number("<Q"), number("<Q")
    if max(num_tensors, num_settings) > MOST_ENTRIES:
        raise _damaged(path, f"{num_tensors:,} tensors and {num_settings:,} settings")
    settings = {
        _text(take, number, path): _value(number("<I"), take, number, path) for _ in range(num_settings)
    }
    names: list[str] = []
    for _ in range(num_tensors):
        names.append(_text(take, number, path))
        take(8 * number("<I"))  # sizes
        take(12)  # type and offset
    return GgufHeader(settings, tuple(names))


def _value(kind: int, take: Callable[[int], bytes], number: Callable[[str], Any], path: Path) -> Any:
    if kind == STRING:
        return _text(take, number, path)
    if kind == LIST:
        inner, count = number("<I"), number("<Q")
        if count > MOST_ENTRIES or inner == LIST:
            raise _damaged(path, f"a list of {count:,} items of type {inner}")
        return [_value(inner, take, number, path) for _ in range(count)]
    if kind not in SCALARS:
        raise _damaged(path, f"a value of type {kind}")
    value = number(SCALARS[kind])
    # The number that was meant: 1e-05 rather than 9.999999747378752e-06.
    return float(f"{value:.7g}") if SCALARS[kind] == FLOAT32 else value


def _text(take: Callable[[int], bytes], number: Callable[[str], Any], path: Path) -> str:
    if (size := number("<Q")) > MOST_BYTES:
        raise _damaged(path, f"a text of {size:,} bytes")
    return take(size).decode("utf-8", errors="replace")


def _damaged(path: Path, got: str) -> InputError:
    return input_error(
        f"{path}: not a GGUF file that can be read",
        got=got,
        allowed="a whole file of GGUF version 2 or 3",
        fix="copy or download the file again",
    )
