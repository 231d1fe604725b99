"""Which version of a library counts for a file: asked for, else pinned beside the file, else installed."""

import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import Final

from trimtab.checks.description import Version
from trimtab.checks.pins import pins_around, pins_of_script
from trimtab.checks.ranges import allows, ranges_around
from trimtab.errors import InputError, Problem

LIBRARIES: Final = (
    "accelerate",
    "axolotl",
    "bitsandbytes",
    "datasets",
    "deepspeed",
    "eole",
    "fairseq",
    "flash-attn",
    "liger-kernel",
    "llamafactory",
    "mammoth-nlp",
    "marian",
    "OpenNMT-py",
    "peft",
    "sentence-transformers",
    "sockeye",
    "tokenizers",
    "torch",
    "torchao",
    "transformers",
    "trl",
    "unsloth",
)
"""Whose version may decide, as the package index spells them."""

_ASKED = r"([A-Za-z0-9][\w.-]*)\s*={1,3}\s*v?([0-9]\S*)"


def parse_versions(items: Iterable[str]) -> dict[str, Version]:
    """Reads what `--with` takes, `transformers=5.24.0 peft=0.21.2`; raises InputError with every item that is wrong."""
    found: dict[str, Version] = {}
    problems: list[Problem] = []
    for item in (part for text in items for part in re.split(r"[\s,]+", text) if part):
        match = re.fullmatch(_ASKED, item)
        version = read_version(match[2]) if match else ()
        library = library_of(match[1]) if match else None
        if match is None or not version:
            problems.append(
                Problem(
                    what=f"--with {item}: no library with its version",
                    got=item,
                    allowed="a library and its version, LIBRARY=VERSION",
                    fix="write it such as `--with transformers=5.24.0`",
                )
            )
        elif library is None:
            from difflib import get_close_matches  # late: few files need it

            near = get_close_matches(match[1].lower(), [name.lower() for name in LIBRARIES], n=1)
            problems.append(
                Problem(
                    what=f"--with {item}: the version of {match[1]} decides nothing",
                    allowed=", ".join(LIBRARIES),
                    fix=f"did you mean `{near[0]}`?" if near else "leave it out",
                )
            )
        else:
            found[library] = version
    if problems:
        raise InputError(*problems)
    return found


def read_version(text: str) -> Version:
    """`5.24` as (5, 24, 0), so that versions compare; what follows the numbers (`.dev0`, `rc1`, `+cu128`) is cut."""
    match = re.match(r"\s*(?:[0-9]+!)?v?([0-9]{1,9}(?:\.[0-9]{1,9})*)", text)
    if match is None:
        return ()
    numbers = tuple(int(part) for part in match[1].split("."))
    return numbers + (0,) * (3 - len(numbers))


def library_of(name: str) -> str | None:
    """The library of a package's name in any spelling; None for one whose version decides nothing."""
    return _BY_NAME.get(normal(name))


def normal(name: str) -> str:
    """A package's name as the package index compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


_BY_NAME = {normal(name): name for name in LIBRARIES} | {"pytorch": "torch", "llama-factory": "llamafactory"}


def own_versions(text: str) -> dict[str, Version]:
    """By library: versions that a script installs itself."""
    pins = pins_of_script(text)
    found = {library: read_version(pin) for name, pin in pins.items() if (library := library_of(name))}
    return {library: version for library, version in found.items() if version}


class Versions(Mapping[str, Version]):
    """By library; files and installed packages are looked at only when a library is asked for."""

    def __init__(self, folder: Path, *, asked: Mapping[str, Version]) -> None:
        self._folder = folder
        self._known: dict[str, Version | None] = dict(asked)

    def __getitem__(self, library: str) -> Version:
        if library not in self._known:
            self._known[library] = self._find(library)
        version = self._known[library]
        if version is None:
            raise KeyError(library)
        return version

    def __iter__(self) -> Iterator[str]:
        return (library for library in dict.fromkeys((*self._known, *LIBRARIES)) if self.get(library))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _find(self, library: str) -> Version | None:
        pin = self._pins.get(normal(library)) if library_of(library) else None
        if version := read_version(pin) if pin else None:
            return version
        here = _installed(library)
        if here is None:
            return None
        return here if all(allows(each, here) for each in self._ranges.get(normal(library), ())) else None

    @cached_property
    def _pins(self) -> Mapping[str, str]:
        return pins_around(self._folder)

    @cached_property
    def _ranges(self) -> Mapping[str, tuple[str, ...]]:
        return ranges_around(self._folder)


def _installed(library: str) -> Version | None:
    """By the name of its folder `trl-1.2.3.dist-info`: a tenth of the time that importlib.metadata takes to start."""
    for folder in sys.path:
        found = _distributions(folder or ".").get(normal(library))
        if found is not None:
            return read_version(found) or None
    return None


@cache
def _distributions(folder: str) -> dict[str, str]:
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return {}
    return dict(filter(None, map(_distribution, names)))


def _distribution(entry: str) -> tuple[str, str] | None:
    """Name and version of `trl-1.2.3.dist-info` or `trl-1.2.3-py3.11.egg-info`. A pattern would take
    longer to compile than all names to read."""
    stem, _, suffix = entry.rpartition(".")
    name, _, rest = stem.partition("-")
    version, _, python = rest.partition("-")
    if suffix not in ("dist-info", "egg-info") or not name or not version[:1].isdecimal():
        return None
    return None if python and not python.startswith("py") else (normal(name), version)
