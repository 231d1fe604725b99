"""Does a run of several ranks, of which one is killed again and again, end with the same weights as one left alone?

    python -m benchmarks.killed_ranks --out benchmarks/killed_ranks.json

A tiny run with dropout trains on two ranks, processes that communicate through Gloo. A random rank is killed with
SIGKILL at a random moment; the other one must name it and end with exit code 99 within 15 s; the run is resumed, and so
on, 20 times with whole weights on each rank and 5 times with sharded ones; then it trains to its end. The result has,
for each kill, when it was to come and what it left, and the sha256 of the last checkpoint's weights beside that of an
undisturbed run on as many ranks. Exit code 1 where anything differs.
"""

import argparse
import json
import platform
import random
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

import torch
from tests.distributed.killing_ranks import finish, lose_in_turn, ranked_recipe
from tests.faults.killing import CHANGES, digest, logs, moments

RANKS, MOST_SECONDS = 2, 15.0
KILLS = {"data_parallel": 20, "fsdp": 5}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kills", type=int, help="of each kind, in place of 20 and 5")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        runs = [measured(Path(folder) / kind, kind, args) for kind in KILLS]
    holds = all(
        run["sha256_undisturbed"] == run["sha256_killed"]
        and run["logs_equal"]
        and run["others_that_named_it"] == len(run["kills"])
        and run["longest_seconds_until_the_job_ended"] < MOST_SECONDS
        for run in runs
    )
    result = {
        "question": "does a run of which ranks are killed again and again end with the weights of one left alone",
        "answer": "yes" if holds else "no",
        "command": " ".join(["python -m benchmarks.killed_ranks", *sys.argv[1:]]),
        "commit": commit(),
        "device": f"CPU, {platform.machine()}, {torch.get_num_threads()} threads",
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in ("torch", "numpy", "sentencepiece", "safetensors")},
        },
        "recipe": {"tests/small_run.py with": CHANGES},
        "ranks": RANKS,
        "runs": runs,
    }
    Path(args.out).write_text(json.dumps(result, indent=1) + "\n")
    print(result["answer"])
    sys.exit(0 if holds else 1)


def measured(folder, kind, args):
    """One run left alone, one of which ranks are killed; what each ended with."""
    begun, count = time.perf_counter(), args.kills or KILLS[kind]
    steps = 10 * (count + 3)
    recipe = ranked_recipe(folder, steps=steps, parallel={"kind": kind})
    finish(recipe, folder / "undisturbed", world_size=RANKS, resume=False)
    draw = random.Random(args.seed)
    when = [(moment, draw.randrange(RANKS)) for moment in moments(count, seed=args.seed, steps=steps)]
    lost = lose_in_turn(recipe, folder / "killed", when, world_size=RANKS)
    finish(recipe, folder / "killed", world_size=RANKS, resume=True)
    both = [folder / name for name in ("undisturbed", "killed")]
    run = {
        "parallel": kind,
        "steps": steps,
        "kills": [
            {"after": {"checkpoint": moment.step, "seconds": round(moment.seconds, 4)}, **asdict(each)}
            for (moment, _), each in zip(when, lost, strict=True)
        ],
        "others_that_named_it": sum(len(each.named) for each in lost),
        "longest_seconds_until_the_job_ended": max(each.seconds for each in lost),
        **dict(zip(("sha256_undisturbed", "sha256_killed"), map(digest, both), strict=True)),
        "logs_equal": logs(both[0])["metrics"] == logs(both[1])["metrics"],
        "seconds": round(time.perf_counter() - begun, 1),
    }
    print(json.dumps(run, indent=1), flush=True)
    return run


def commit():
    found = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    return found.stdout.strip()


if __name__ == "__main__":
    main()
