"""Fonts for rendering: found in files and folders, with the characters that each of them draws."""

import hashlib
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from PIL import ImageFont

from trimtab.errors import input_error, reading

SUFFIXES = (".ttf", ".otf", ".ttc")
EXAMPLE = "/usr/share/fonts/truetype/dejavu, from the Debian package fonts-dejavu-core"
_KEPT = 4096
"""Fonts of a size that a process keeps open."""


@dataclass(frozen=True, slots=True)
class FontSet:
    """Font files in their order, and which characters each of them has; may be pickled."""

    paths: tuple[str, ...]
    covered: tuple[frozenset[int], ...]
    """Code points by the table of characters of each font."""
    fingerprint: str
    """sha256 of the files' names and contents: other fonts draw other images."""

    def covering(self, text: str) -> list[int]:
        """The numbers of the fonts that have every character of a text; white space needs none."""
        needed = {ord(each) for each in text if not each.isspace()}
        return [number for number, covered in enumerate(self.covered) if needed <= covered]

    def missing(self, characters: Iterable[str]) -> list[str]:
        """Characters that no font has."""
        every = frozenset[int]().union(*self.covered)
        return sorted({each for each in characters if not each.isspace() and ord(each) not in every})

    def font(self, number: int, size: int) -> ImageFont.FreeTypeFont:
        """A font at a size in pixels."""
        return _font(self.paths[number], size)


@lru_cache(maxsize=_KEPT)
def _font(path: str, size: int) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(path, size)


def open_fonts(given: Sequence[str], *, key: str) -> FontSet:
    """The fonts in these files and folders, in the order of their paths; InputError where there is none, or one that
    FreeType cannot open. Symbol fonts, which have no table of Unicode characters, are left out of folders."""
    paths = [path for each in given for path in _found(Path(each).expanduser(), key=key)]
    kept, covered, digest = [], [], hashlib.sha256()
    for path in dict.fromkeys(paths):
        with reading(path):
            raw = path.read_bytes()
        try:
            characters = frozenset(characters_of(raw))
            _font(str(path), 20).getmask("x")
        except (OSError, ValueError, struct.error, IndexError) as error:
            raise input_error(
                f"{key}: {path}: no font that can be drawn with",
                got=str(error),
                allowed="a TrueType or OpenType font",
                fix="take it out of the list or the folder",
            ) from None
        if characters:
            kept.append(str(path))
            covered.append(characters)
            digest.update(path.name.encode() + hashlib.sha256(raw).digest())
    if not kept:
        raise input_error(
            f"{key}: no font with a table of Unicode characters",
            got=", ".join(map(str, given)),
            allowed=f"folders with files of {', '.join(SUFFIXES)}, such as {EXAMPLE}",
            fix="name a folder with fonts for your script",
        )
    return FontSet(tuple(kept), tuple(covered), digest.hexdigest())


def _found(place: Path, *, key: str) -> list[Path]:
    if place.is_dir():
        with reading(place):
            found = sorted(
                path for path in place.rglob("*") if path.suffix.lower() in SUFFIXES and path.is_file()
            )
        if found:
            return found
    elif place.is_file():
        return [place]
    raise input_error(
        f"{key}: {place}: {'holds no font' if place.is_dir() else 'does not exist'}",
        got=str(place),
        allowed=f"a file of {', '.join(SUFFIXES)}, or a folder with some, such as {EXAMPLE}",
        fix="install the fonts, or correct the path",
    )


def characters_of(raw: bytes) -> Iterator[int]:
    """The code points that a font maps to a glyph that is not the box for missing ones, by the subtables of its `cmap`
    in the formats 4 and 12 (OpenType 1.9). Of a collection (.ttc) the first font counts, which Pillow opens too.

    Raises ValueError, IndexError or struct.error for what is no font.
    """
    start = struct.unpack_from(">I", raw, 12)[0] if raw[:4] == b"ttcf" else 0
    if raw[start : start + 4] not in (b"\x00\x01\x00\x00", b"OTTO", b"true"):
        raise ValueError("neither TrueType nor OpenType")
    count = struct.unpack_from(">H", raw, start + 4)[0]
    tables = {raw[at : at + 4]: struct.unpack_from(">II", raw, at + 8)
              for at in range(start + 12, start + 12 + 16 * count, 16)}  # fmt: skip
    if b"cmap" not in tables:
        return
    table = tables[b"cmap"][0]
    for at in range(table + 4, table + 4 + 8 * struct.unpack_from(">H", raw, table + 2)[0], 8):
        platform, encoding, offset = struct.unpack_from(">HHI", raw, at)
        if platform == 0 or (platform == 3 and encoding in (1, 10)):
            yield from _mapped(raw, table + offset)


def _mapped(raw: bytes, at: int) -> Iterator[int]:
    match struct.unpack_from(">H", raw, at)[0]:
        case 4:
            segments = struct.unpack_from(">H", raw, at + 6)[0] // 2
            ends = struct.unpack_from(f">{segments}H", raw, at + 14)
            first = at + 16 + 2 * segments
            starts = struct.unpack_from(f">{segments}H", raw, first)
            deltas = struct.unpack_from(f">{segments}H", raw, first + 2 * segments)
            offsets_at = first + 4 * segments
            offsets = struct.unpack_from(f">{segments}H", raw, offsets_at)
            for number, (start, end) in enumerate(zip(starts, ends, strict=True)):
                for code in range(start, min(end, 0xFFFE) + 1):
                    glyph = code
                    if offsets[number]:
                        place = offsets_at + 2 * number + offsets[number] + 2 * (code - start)
                        glyph = struct.unpack_from(">H", raw, place)[0]
                        if glyph == 0:
                            continue
                    if (glyph + deltas[number]) & 0xFFFF:
                        yield code
        case 12:
            for group in range(struct.unpack_from(">I", raw, at + 12)[0]):
                start, end, glyph = struct.unpack_from(">III", raw, at + 16 + 12 * group)
                yield from range(start + (glyph == 0), min(end, 0x10FFFF) + 1)
        case _:
            return
