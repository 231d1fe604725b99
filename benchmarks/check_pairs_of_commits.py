"""Does `trimtab check` use more processor time than an older commit did?

    git worktree add --detach ../older COMMIT
    python benchmarks/check_pairs_of_commits.py --older ../older --out benchmarks/check_pairs_of_commits.json

Runs the two commits in turn, in the same interpreter, on the files of `check_speed.py`: one file of each kind from a
cold start, and a folder of many. Compares the instructions that cachegrind counts, which no other load on the machine
moves; with `--pairs N` the user time of N runs of each, of which the median of the ratios of neighbors counts. Exit
code 1 where the newer commit needs more than the tolerance.
"""

import argparse
import json
import os
import platform
import re
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from check_speed import TEMPLATES, environment, processor

HERE = Path(__file__).resolve().parent.parent
TOLERANCE = 0.03
CODE = "from trimtab.cli.main import main; main()"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--older", type=Path, required=True, help="a checkout of the older commit")
    parser.add_argument("--pairs", type=int, default=0, help="0 counts instructions, once")
    parser.add_argument("--files", type=int, default=120, help="of the folder")
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    trees = {"older": args.older.resolve(), "newer": HERE}
    with tempfile.TemporaryDirectory() as folder:
        cases = {name: one_file(Path(folder), name) for name in TEMPLATES}
        cases[f"{args.files} files"] = many_files(Path(folder) / "many", args.files)
        rows = {
            name: compared(trees, path, pairs=args.pairs) if args.pairs else counted(trees, path)
            for name, path in cases.items()
        }
    slower = [name for name, row in rows.items() if row["ratio"] > 1 + TOLERANCE]
    result = {
        "question": "does `trimtab check` use more processor time than an older commit",
        "answer": ", ".join(f"{name} {row['ratio']:.2f}" for name, row in rows.items()),
        "slower": slower,
        "tolerance": TOLERANCE,
        "commits": {name: commit(tree) for name, tree in trees.items()},
        "device": f"CPU, {processor()}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        "rows": rows,
    }
    args.out.write_text(json.dumps(result, indent=1) + "\n")
    print(result["answer"])
    sys.exit(1 if slower else 0)


def one_file(folder, name):
    path = folder / name
    path.write_text(TEMPLATES[name].format(rate="2.0e-5"))
    return path


def many_files(folder, count):
    names = list(TEMPLATES)
    for number in range(count):
        name = names[number % len(names)]
        path = folder / f"{number:04}" / name
        path.parent.mkdir(parents=True)
        path.write_text(TEMPLATES[name].format(rate=f"{1 + number / count:.3f}e-5"))
    return folder


def compared(trees, path, *, pairs):
    """Medians of each commit, and of the ratios of neighboring runs; the first pair fills the caches and is dropped."""
    seconds = {name: [] for name in trees}
    for number in range(pairs + 1):
        order = list(trees) if number % 2 else list(reversed(trees))
        for name in order:
            seconds[name].append(user_seconds(trees[name], path))
    seconds = {name: each[1:] for name, each in seconds.items()}
    ratios = [newer / older for older, newer in zip(seconds["older"], seconds["newer"], strict=True)]
    medians = {f"{name}_ms": round(1000 * statistics.median(each), 1) for name, each in seconds.items()}
    return {**medians, "ratio": round(statistics.median(ratios), 3), "pairs": pairs}


def counted(trees, path):
    """Millions of instructions of each commit, and their ratio."""
    counts = {name: instructions(tree, path) for name, tree in trees.items()}
    millions = {f"{name}_million_instructions": round(count / 1e6, 1) for name, count in counts.items()}
    return {**millions, "ratio": round(counts["newer"] / counts["older"], 3)}


def instructions(tree, path):
    checked(tree, path)  # so that Python's files are compiled
    cachegrind = ("valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null")
    told = checked(tree, path, *cachegrind).stderr
    return int(re.search(r"I\s+refs:\s+([\d,]+)", told)[1].replace(",", ""))


def user_seconds(tree, path):
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    checked(tree, path)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def checked(tree, path, *under):
    done = subprocess.run(
        [*under, sys.executable, "-c", CODE, "check", str(path)],
        capture_output=True,
        text=True,
        check=False,
        env=environment() | {"PYTHONPATH": str(tree / "src"), "PYTHONHASHSEED": "0"},
    )
    assert done.returncode in (0, 1), done.stderr
    return done


def commit(tree):
    done = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=True, cwd=tree)
    return done.stdout.strip()


if __name__ == "__main__":
    main()
