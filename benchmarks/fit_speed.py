"""How long does `trimtab fit` take from a cold start?

    python benchmarks/fit_speed.py --out benchmarks/fit_speed.json

Processes of their own, from the call to the end, Python's files already compiled: for each command one that is not
counted, then ten. The least time counts, and the median is told beside it with the load of the machine, since other
programs only ever add to it. `bare` is Python itself. Exit code 1 above the bound, where the machine is quiet.
"""

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROCESSES = 10
MOST_SECONDS = 0.3
QUIET_LOAD = 0.5
"""Programs that run beside this one, for each core, up to which its times mean something."""
RECIPE = """\
task: language_model
data: {train: [{text: train.txt}], valid: {text: valid.txt}, max_tokens: 512}
model: {kind: decoder, preset: small}
step: {tokens_per_step: 32768, tokens_per_micro_batch: 32768}
length: 500 steps
"""
COMMANDS = {
    "fits": ("--gpu", "rtx-4090"),
    "does not fit, with a proposal": ("--memory", "4GB"),
    "all GPUs": ("--gpu", "all"),
}


def measured(command):
    """Seconds of some processes, and those of the processor in the last of them."""
    wall, worked = [], []
    for _ in range(PROCESSES + 1):
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
        wall.append(time.perf_counter() - began)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        worked.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return {
        "least_s": round(min(wall[1:]), 4),
        "median_s": round(statistics.median(wall[1:]), 4),
        "least_cpu_s": round(min(worked[1:]), 4),
    }


def main():
    """Parses the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "my.yaml"
        path.write_text(RECIPE, encoding="utf-8")
        found = {"bare": measured([sys.executable, "-c", "pass"])}
        for each, options in COMMANDS.items():
            found[each] = measured([sys.executable, "-m", "trimtab", "fit", str(path), *options])
    quiet = load <= QUIET_LOAD * (os.cpu_count() or 1)
    about = {"python": platform.python_version(), "cores": os.cpu_count(), "load_before": round(load, 2)}
    result = {**about, "quiet": quiet, "bound_s": MOST_SECONDS, "commands": found}
    print(json.dumps(result, indent=1))
    if given.out:
        given.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    if quiet and found["fits"]["least_s"] > MOST_SECONDS:
        sys.exit(1)


if __name__ == "__main__":
    main()
