"""What is checked in an exported folder before CTranslate2 may see it.

The library reads `model.bin` as it comes. So its table of tensors is read here first: each must lie within the file,
have numbers in it, and there must be as many as the model that is expected has. The form is that of
`ctranslate2/specs/model_spec.py`, version 6.
"""

import json
import math
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from trimtab.errors import InputError, input_error
from trimtab.export.plain_files import plain_file, read_object

CONFIG, WEIGHTS = "config.json", "model.bin"
SHARED, SOURCE, TARGET = "shared_vocabulary.json", "source_vocabulary.json", "target_vocabulary.json"
VERSION, NAME, REVISION = 6, "TransformerSpec", 7
MOST_VOCABULARY_BYTES = 2**28
MOST_TENSORS = 100_000
TYPES = {0: 4, 1: 1, 2: 2, 3: 4, 4: 2, 5: 2}
"""Bytes of a number of each type: float32, int8, int16, int32, float16, bfloat16."""
EXPONENTS = {0: 0x7F800000, 4: 0x7C00, 5: 0x7F80}
"""The bits of the exponent of float32, float16 and bfloat16, all of which are 1 in what is infinite or no number."""
SYMBOLS = ("unk_token", "bos_token", "eos_token", "decoder_start_token")


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """Where a tensor lies in the file."""

    shape: tuple[int, ...]
    type: int
    start: int
    num_bytes: int


def check_files(folder: Path, expected: Mapping[str, int]) -> dict[str, Any]:
    """The settings of the model in a folder; InputError if anything is not as an export writes it.

    `expected` are sizes that the recipe knows: `source_ids`, `target_ids`, `dim`, `encoder_layers`, `decoder_layers`,
    and `positions`, of which there may be more.
    """
    config = read_object(folder, CONFIG)
    _check_config(folder, config)
    tensors = read_tensors(plain_file(folder, WEIGHTS))
    found = sizes_of(tensors)
    others = [
        key
        for key, size in expected.items()
        if (found.get(key, size) < size if key == "positions" else found.get(key) != size)
    ]
    if others:
        raise weights_refused(
            folder / WEIGHTS,
            got=", ".join(f"{key} {found.get(key)}" for key in others),
            allowed=", ".join(f"{key} {expected[key]}" for key in others) + ", as the recipe says",
        )
    check_finite(folder / WEIGHTS, tensors)
    return config


def read_vocabularies(folder: Path) -> tuple[list[str], list[str]]:
    """The pieces of source and target by id; the very same list twice where there is one vocabulary."""
    if (folder / SHARED).exists():
        shared = _read_vocabulary(folder, SHARED)
        return shared, shared
    return _read_vocabulary(folder, SOURCE), _read_vocabulary(folder, TARGET)


def read_tensors(path: Path) -> dict[str, StoredTensor]:
    """The table of `model.bin` by name, other names of a tensor included; InputError if it is none or not whole."""
    size = path.stat().st_size
    with open(path, "rb") as file:
        reader = _Reader(path, file, size)
        version, name, revision = reader.number("I"), reader.text(), reader.number("I")
        if (version, name, revision) != (VERSION, NAME, REVISION):
            raise weights_refused(
                path,
                got=f"{name[:40]!r} of revision {revision}, form {version}",
                allowed=f"{NAME} of revision {REVISION}, form {VERSION}",
            )
        tensors = dict(reader.tensor() for _ in range(reader.count()))
        for _ in range(reader.count()):
            alias, original = reader.text(), reader.text()
            if original not in tensors:
                raise weights_refused(
                    path, got=f"{alias[:80]} is said to be {original[:80]}, which is not there"
                )
            tensors[alias] = tensors[original]
        if file.tell() != size:
            raise weights_refused(path, got=f"{size - file.tell()} bytes after its end")
    return tensors


def sizes_of(tensors: Mapping[str, StoredTensor]) -> dict[str, int]:
    """The sizes that the tensors themselves tell."""
    sizes: dict[str, int] = {}
    embeddings = {"source_ids": "encoder/embeddings_0/weight", "target_ids": "decoder/embeddings/weight"}
    for key, name in embeddings.items():
        if name in tensors and len(tensors[name].shape) == 2:
            sizes[key], sizes["dim"] = tensors[name].shape
    for side in ("encoder", "decoder"):
        layers = (re.match(rf"{side}/layer_(\d+)/", name) for name in tensors)
        sizes[f"{side}_layers"] = len({found[1] for found in layers if found})
    tables = [
        each.shape[0] for name, each in tensors.items() if name.endswith("position_encodings/encodings")
    ]
    if tables:
        sizes["positions"] = min(tables)
    return sizes


def check_finite(path: Path, tensors: Mapping[str, StoredTensor]) -> None:
    """InputError if a weight is no number."""
    for name, each in tensors.items():
        if each.type not in EXPONENTS or not each.num_bytes:
            continue
        bits = np.uint32 if TYPES[each.type] == 4 else np.uint16
        numbers = np.memmap(path, dtype=np.uint8, mode="r", offset=each.start, shape=each.num_bytes)
        ones = EXPONENTS[each.type]
        if ((np.frombuffer(numbers, bits) & ones) == ones).any():
            raise weights_refused(
                path, got=f"numbers that are not finite in {name}", allowed="finite numbers"
            )


def weights_refused(path: Path, *, got: str, allowed: str = "a file as the export wrote it") -> InputError:
    """The error for weights that are not those of the export."""
    return input_error(
        f"{path}: not the weights of this export",
        got=got,
        allowed=allowed,
        fix="restore the file, or export the run again",
    )


class _Reader:
    """Reads the table, and nothing beyond the end of the file."""

    def __init__(self, path: Path, file: BinaryIO, size: int) -> None:
        self.path, self.file, self.size = path, file, size

    def number(self, form: str) -> int:
        return struct.unpack(f"<{form}", self._bytes(struct.calcsize(form)))[0]

    def count(self) -> int:
        count = self.number("I")
        if count > MOST_TENSORS:
            raise weights_refused(self.path, got=f"{count:,} tensors")
        return count

    def text(self) -> str:
        raw = self._bytes(self.number("H"))
        if not raw.endswith(b"\0") or not raw[:-1].isascii() or b"\0" in raw[:-1]:
            raise weights_refused(self.path, got=f"the name {raw[:40]!r}")
        return raw[:-1].decode("ascii")

    def tensor(self) -> tuple[str, StoredTensor]:
        name = self.text()
        shape = tuple(self.number("I") for _ in range(self.number("B")))
        kind, num_bytes = self.number("B"), self.number("I")
        if kind not in TYPES or num_bytes != math.prod(shape) * TYPES[kind]:
            raise weights_refused(
                self.path,
                got=f"{name[:80]} of type {kind} and shape {list(shape)[:8]} in {num_bytes:,} bytes",
            )
        start = self.file.tell()
        if start + num_bytes > self.size:
            raise weights_refused(self.path, got=f"a file that ends within {name[:80]}")
        self.file.seek(num_bytes, 1)
        return name, StoredTensor(shape, kind, start, num_bytes)

    def _bytes(self, count: int) -> bytes:
        found = self.file.read(count)
        if len(found) < count:
            raise weights_refused(self.path, got=f"a file that ends after {self.size:,} bytes")
        return found


def _check_config(folder: Path, config: Mapping[str, Any]) -> None:
    """Only the keys that an export writes, with values of their types."""
    wrong = [key for key in SYMBOLS if not isinstance(config.get(key), str)]
    if config.get("add_source_bos") is not False or config.get("add_source_eos") is not True:
        wrong.append("add_source_bos, add_source_eos")
    if type(epsilon := config.get("layer_norm_epsilon")) is not float or not 0 < epsilon < 1:
        wrong.append("layer_norm_epsilon")
    if config.get("multi_query_attention") is not False:
        wrong.append("multi_query_attention")
    wrong += sorted(
        config.keys()
        - {*SYMBOLS, "add_source_bos", "add_source_eos", "layer_norm_epsilon", "multi_query_attention"}
    )
    if wrong:
        raise input_error(
            f"{folder / CONFIG}: not the settings of an export",
            got=f"{', '.join(map(str, wrong))[:200]} missing, unknown or of another kind",
            allowed="the file as the export wrote it",
            fix="export the run again",
        )


def _read_vocabulary(folder: Path, name: str) -> list[str]:
    path = plain_file(folder, name, most=MOST_VOCABULARY_BYTES)
    try:
        pieces: Any = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise _no_vocabulary(path, got=f"no valid JSON: {error}"[:200]) from None
    if not isinstance(pieces, list) or not all(isinstance(each, str) for each in pieces):
        raise _no_vocabulary(path, got="no list of texts")
    if len(set(pieces)) < len(pieces):
        raise _no_vocabulary(path, got="a duplicate piece")
    return pieces


def _no_vocabulary(path: Path, *, got: str) -> InputError:
    return input_error(
        f"{path}: not a vocabulary of an export",
        got=got,
        allowed="a JSON list of pieces, each once",
        fix="export the run again",
    )
