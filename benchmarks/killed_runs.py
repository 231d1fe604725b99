"""Does a run that is killed again and again end with the same weights as one left alone?

    python -m benchmarks.killed_runs --out benchmarks/killed_runs.json

For 0 and 2 data workers: a tiny run with dropout trains as a process of its own, is killed with SIGKILL at a random
moment, is resumed, killed again ... five times in a row, and then trains to its end. The result names, for each kill,
when it was to come and what lay on the disk afterwards, and the sha256 of the last checkpoint's weights beside that of
an undisturbed run. Exit code 1 where anything differs.
"""

import argparse
import json
import platform
import signal
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

import torch
from tests.faults.killing import CHANGES, digest, end_in_turn, finish, killed_recipe, logs, moments

KILLS = 5


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", required=True)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        runs = [measured(Path(folder) / str(workers), workers=workers, seed=args.seed) for workers in (0, 2)]
    digests = {run[key] for run in runs for key in ("sha256_undisturbed", "sha256_killed")}
    equal = len(digests) == 1 and all(run["logs_equal"] for run in runs)
    result = {
        "question": "does a run that is killed again and again end with the same weights as one left alone",
        "answer": "yes" if equal else "no",
        "command": " ".join(["python -m benchmarks.killed_runs", *sys.argv[1:]]),
        "commit": commit(),
        "device": f"CPU, {platform.machine()}, {torch.get_num_threads()} threads",
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in ("torch", "numpy", "sentencepiece", "safetensors")},
        },
        "recipe": {"tests/small_run.py with": CHANGES},
        "runs": runs,
    }
    Path(args.out).write_text(json.dumps(result, indent=1) + "\n")
    print(result["answer"])
    sys.exit(0 if equal else 1)


def measured(folder, *, workers, seed):
    """One run left alone, one killed; what each ended with."""
    started = time.perf_counter()
    recipe = killed_recipe(folder, workers=workers)
    finish(recipe, folder / "undisturbed", resume=False)
    when = moments(KILLS, seed=100 * seed + workers)
    found = end_in_turn(recipe, folder / "killed", when)
    finish(recipe, folder / "killed", resume=True)
    run = {
        "workers": workers,
        "kills": [told(moment, left) for moment, left in zip(when, found, strict=True)],
        "sha256_undisturbed": digest(folder / "undisturbed"),
        "sha256_killed": digest(folder / "killed"),
        "logs_equal": logs(folder / "undisturbed") == logs(folder / "killed"),
        "seconds": round(time.perf_counter() - started, 1),
    }
    print(json.dumps(run, indent=1), flush=True)
    return run


def told(moment, left):
    return {
        "after": {"checkpoint": moment.step, "seconds": round(moment.seconds, 4)},
        "signal": signal.Signals(-left.code).name,
        "newest_checkpoint": left.checkpoint,
        "last_step_in_metrics": left.metrics_step,
        "checkpoints_being_written": left.drafts,
    }


def commit():
    found = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    return found.stdout.strip()


if __name__ == "__main__":
    main()
