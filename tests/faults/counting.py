"""Counts of what the fault suite tried and what held, kept in a JSON file where one is asked for.

`TRIMTAB_FAULT_RESULTS=benchmarks/fault_suite.json` asks for it, as `just faults` does. A test that runs again replaces
its own counts, so the suite may be run in pieces; `tools/write_reliability.py` makes the table of the file.
"""

import json
import os
import platform
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, Protocol

from trimtab.checkpoint.durable import replace_file

RESULTS = "TRIMTAB_FAULT_RESULTS"
Kind = Literal[
    "random kills",
    "crash points",
    "signals",
    "corruptions",
    "numbers",
    "data faults",
    "workers lost",
    "healthy runs",
]


class Count(Protocol):
    """Takes counts of the running test; call it before the assertion, so that what failed is counted too."""

    def __call__(self, kind: Kind, *, tried: int, held: int, steps_lost: Sequence[int] = ()) -> None: ...


def keep(test: str, counts: list[dict[str, Any]], *, seconds: float) -> None:
    """Puts the counts of one test into the file, if there is to be one."""
    if not counts or not (path := os.environ.get(RESULTS)):
        return
    file = Path(path)
    results = json.loads(file.read_text()) if file.exists() else {"tests": {}}
    results["machine"] = f"CPU, {platform.machine()}, {os.cpu_count()} cores"
    results["versions"] = {"python": platform.python_version()} | {
        name: version(name) for name in ("torch", "numpy", "sentencepiece", "safetensors")
    }
    results["tests"][test] = {"seconds": round(seconds, 1), "counts": counts}
    results["tests"] = dict(sorted(results["tests"].items()))
    replace_file(file, (json.dumps(results, indent=1) + "\n").encode())
