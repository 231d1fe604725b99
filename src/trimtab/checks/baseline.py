"""A baseline: the findings that an old project has today, so that only new ones are reported.

A finding is known again by its rule, file, key and message without numbers, so that moved lines do not matter.
"""

import json
import os
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

from trimtab.checks.place import Place
from trimtab.checks.record import record
from trimtab.checks.rule import Diagnosis
from trimtab.checks.silence.pages import BASELINE_OF_NOTHING
from trimtab.checks.write import write_text
from trimtab.errors import InputError, input_error

VERSION = 1
ESCAPED = "backslashreplace"
"""What is done with names of files that are not UTF-8, which JSON then reads as it was."""
_NUMBER = re.compile(r"\d[\d,._]*(?:[eE][+-]?\d+)?")


@record
class Baseline:
    """What a baseline file remembers."""

    path: Path
    entries: tuple[dict[str, str], ...]

    @property
    def folder(self) -> Path:
        """Paths of entries are relative to it."""
        return self.path.parent


def fingerprint(diagnosis: Diagnosis, folder: Path) -> str:
    """Sixteen hexadecimal digits that stay when lines move and numbers change."""
    from hashlib import sha256

    words = _NUMBER.sub("0", diagnosis.finding.message)
    parts = (diagnosis.finding.code, _below(diagnosis.place.path, folder), diagnosis.key, words)
    return sha256("\0".join(parts).encode("utf-8", ESCAPED)).hexdigest()[:16]


def write_baseline(path: Path, diagnoses: Iterable[Diagnosis]) -> None:
    """Writes what is found now, one finding a line; InputError if it cannot be written."""
    folder = path.parent
    entries = [
        {
            "code": each.finding.code,
            "path": _below(each.place.path, folder),
            "key": each.key,
            "fingerprint": fingerprint(each, folder),
        }
        for each in diagnoses
    ]
    entries.sort(key=lambda entry: (entry["path"], entry["code"], entry["key"], entry["fingerprint"]))
    rows = ",\n".join(f"    {json.dumps(entry, ensure_ascii=False)}" for entry in entries)
    inner = f"\n{rows}\n  " if rows else ""
    text = f'{{\n  "version": {VERSION},\n  "findings": [{inner}]\n}}\n'
    try:
        if path.exists() and not path.is_file():  # a pipe or a device has no other name to take
            path.write_text(text, encoding="utf-8", errors=ESCAPED)
        else:
            write_text(path, text)
    except OSError as error:
        raise input_error(
            f"--write-baseline {path}: cannot be written", got=error.strerror or str(error)
        ) from None


def read_baseline(path: Path) -> Baseline:
    """Reads a baseline; InputError for what is none."""
    try:
        whole: Any = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise input_error(
            f"--baseline {path}: cannot be read",
            got=error.strerror or str(error),
            allowed="a file that --write-baseline wrote",
            fix=f"make it with --write-baseline {path}",
        ) from None
    except (ValueError, RecursionError):
        raise _no_baseline(path, "no JSON") from None
    if not isinstance(whole, dict) or cast(dict[str, Any], whole).get("version") != VERSION:
        raise _no_baseline(path, f"no object with version {VERSION}")
    entries = cast(dict[str, Any], whole).get("findings")
    if not isinstance(entries, list) or not all(map(_is_entry, cast(list[Any], entries))):
        raise _no_baseline(path, "no list of findings with code, path, key and fingerprint")
    return Baseline(path, tuple(cast(list[dict[str, str]], entries)))


def known(
    baseline: Baseline, diagnoses: Iterable[Diagnosis], looked_at: Iterable[str]
) -> tuple[list[Diagnosis], list[Diagnosis], list[Diagnosis]]:
    """New findings, those the baseline knows, and a note for each entry of a file looked at that is found no more."""
    left = Counter(entry["fingerprint"] for entry in baseline.entries)
    new: list[Diagnosis] = []
    old: list[Diagnosis] = []
    for diagnosis in diagnoses:
        mark = fingerprint(diagnosis, baseline.folder)
        (old if left[mark] > 0 else new).append(diagnosis)
        left[mark] -= left[mark] > 0
    files = {_below(path, baseline.folder) for path in looked_at}
    stale: list[Diagnosis] = []
    for row, entry in enumerate(baseline.entries):
        if entry["path"] in files and left[entry["fingerprint"]] > 0:
            left[entry["fingerprint"]] -= 1
            place = Place(str(baseline.path), row + 4)  # where `write_baseline` puts it
            stale.append(BASELINE_OF_NOTHING.at(place, code=entry["code"], file=entry["path"]))
    return new, old, stale


def _below(path: str, folder: Path) -> str:
    return Path(os.path.relpath(path, folder)).as_posix()


def _is_entry(entry: Any) -> bool:
    if not isinstance(entry, dict):
        return False
    table = cast(dict[str, Any], entry)
    return all(isinstance(table.get(name), str) for name in ("code", "path", "key", "fingerprint"))


def _no_baseline(path: Path, got: str) -> InputError:
    return input_error(
        f"--baseline {path}: not a baseline",
        got=got,
        allowed="what --write-baseline wrote",
        fix=f"make it with --write-baseline {path}",
    )
