"""How often the laboratory's test finds a difference where there is none, in A/A pairs of real runs on a CPU.

    python benchmarks/lab_false_positives.py [--pairs 20] [--steps 40] [--parallel 1] [--out FILE]

Each pair is two runs of `experiments/scales/tiny.yaml` with the same order of data and other first weights, as the A/A
pair of an experiment is. A comparison takes five different pairs by chance, calls one run of each the arm, and tests as
`trimtab lab` does; 1,000 of them are drawn. They share runs, so that the share of false positives says whether the
t-test suits differences like these, and its error is that of the pairs, not that of 1,000 independent comparisons.
"""

import argparse
import json
import os
import random
import sys
import time
from pathlib import Path

from trimtab.lab.laboratory import place_of
from trimtab.lab.pool import Budget, Cache, make_all
from trimtab.lab.result import hardware, installed
from trimtab.lab.runs import WEIGHTS, Run
from trimtab.lab.statistics import LEVEL, paired

RECIPE = Path(__file__).parents[1] / "experiments" / "scales" / "tiny.yaml"
OUT = Path(__file__).with_suffix(".json")
SEEDS, COMPARISONS = 5, 1000


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--parallel", type=int, default=1)
    parser.add_argument("--runs", type=Path, default=Path("runs/lab"))
    parser.add_argument("--out", type=Path, default=OUT)
    args = parser.parse_args()
    begun = time.perf_counter()
    machine = hardware("cpu")
    losses = losses_of(args, machine)
    differences = [one - other for one, other in losses]
    share = false_positives(differences)
    result = {
        "question": "how often is an A/A comparison of five pairs called significant at 0.05?",
        "command": f"python benchmarks/lab_false_positives.py --pairs {args.pairs} --steps {args.steps}",
        "hardware": machine,
        "torch": installed("torch"),
        "minutes": round((time.perf_counter() - begun) / 60, 1),
        "comparisons": COMPARISONS,
        "false_positives": share,
        "losses": losses,
    }
    args.out.write_text(json.dumps(result, indent=1) + "\n")
    print(f"{share:.1%} of {COMPARISONS} comparisons, drawn from {args.pairs} pairs; {args.out}")
    return 0


def losses_of(args, machine):
    """The two losses of each pair."""
    length = f"{args.steps} steps"
    shared = {
        "length": length,
        "evaluate.every": length,
        "checkpoint.every": length,
        "evaluate.metrics": [],
        "evaluate.best.metric": "loss",
    }
    runs = [
        Run(
            arm=f"weights {which}",
            seed=seed,
            recipe=RECIPE,
            overrides={**shared, "seed": seed + which * WEIGHTS, "data.seed": seed},
            key=f"false-positives-{args.steps}-{seed}-{which}",
        )
        for seed in range(1, args.pairs + 1)
        for which in (0, 1)
    ]
    records = make_all(
        runs,
        cache=Cache(args.runs, place_of(machine)),
        parallel=args.parallel,
        device="cpu",
        budget=Budget(None),
        told=lambda run, record: print(run.arm, run.seed, record["ended"], record["seconds"], flush=True),
    )
    found = [records[run.key]["scores"]["prose"]["loss"] for run in runs]
    return [list(pair) for pair in zip(found[::2], found[1::2], strict=True)]


def false_positives(differences):
    """The share of comparisons of five of these, each with a sign by chance, whose p is below 0.05."""
    chance = random.Random(1)
    significant = 0
    for _ in range(COMPARISONS):
        drawn = [chance.choice((-1, 1)) * each for each in chance.sample(differences, SEEDS)]
        significant += paired(drawn).p < LEVEL
    return significant / COMPARISONS


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
