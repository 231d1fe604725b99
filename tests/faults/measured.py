"""`python -m tests.faults.measured RECIPE RUN` trains and prints the most memory that the process had, as JSON."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from trimtab.launch import train


def train_and_measure(recipe: Path, run: Path) -> int:
    """The most memory of a process that trains, in bytes; the run lies in its folder."""
    command = [sys.executable, "-m", "tests.faults.measured", str(recipe), str(run)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told["peak_bytes"]


def peak_bytes() -> int:
    """Of this process since it began; not `getrusage`, which counts what the parent had before."""
    (line,) = [
        each for each in Path("/proc/self/status").read_text().splitlines() if each.startswith("VmHWM")
    ]
    return 1024 * int(line.split()[1])


if __name__ == "__main__":
    train(sys.argv[1], out=sys.argv[2])
    print(json.dumps({"peak_bytes": peak_bytes()}))
