"""Versions of installed packages, read from the names of their folders.

`importlib.metadata` gives the same, but it loads the whole of `email` to do so, which takes longer than a check.
"""

import os
import re
import sys
from functools import cache

_FOLDER = re.compile(r"(.+?)-([^-]+?)(?:-py3[\w.]*)?\.(?:dist|egg)-info")


def installed_version(library: str) -> str | None:
    """The version as the package's folder tells it; None where it is not installed."""
    return _installed().get(_normal(library))


@cache
def _installed() -> dict[str, str]:
    found: dict[str, str] = {}
    for folder in sys.path:  # what comes first is what an import would take
        try:
            names = os.listdir(folder or os.curdir)
        except OSError:
            continue
        for name in names:
            if match := _FOLDER.fullmatch(name):
                found.setdefault(_normal(match[1]), match[2])
    return found


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
