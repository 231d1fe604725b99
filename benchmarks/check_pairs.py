"""How many mended bugs of public training code does `trimtab check` name, and is it silent on what they became?

    python benchmarks/check_pairs.py fetch --mirrors FOLDER --files FILES    # git clones named OWNER+NAME[/repo]
    python benchmarks/check_pairs.py run --files FILES --half open           # or sealed, or both
    python benchmarks/check_pairs.py others --files FILES                    # torch-preflight, TorchFix and ruff

The pairs stand in check_pairs.json: repository, the commit before and the one that mends, the file, and one line of
what was wrong. The code is not kept here: `fetch` writes each file and the Python files beside it, as they were before
and after, from clones of the repositories. How the pairs were found, and how they were divided into two halves, is
said there too. A pair counts as named where the rule of its kind speaks before and less often after; every other
warning or error that is new after is listed, to be judged.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).with_suffix(".json")
OTHERS = {
    "torch-preflight": ("torch-preflight", "{}"),
    "torchfix": ("torchfix", "--select=ALL", "{}"),
    "ruff": ("ruff", "check", "--isolated", "--no-cache", "--select", "ALL", "{}"),
}

MOST_SECONDS = 120
"""That another linter gets for one file."""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["fetch", "run", "others"])
    parser.add_argument("--mirrors", type=Path)
    parser.add_argument("--files", type=Path, required=True)
    parser.add_argument("--half", choices=["open", "sealed", "both", "second"], default="both")
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args()
    record = json.loads(HERE.read_text())
    halves = ("open", "sealed") if args.half == "both" else (args.half,)
    pairs = [pair for pair in record["pairs"] if pair["half"] in halves]
    if args.what == "fetch":
        for pair in pairs:
            fetch(pair, args.mirrors, args.files)
        return
    if args.what == "others":
        print(json.dumps(others(pairs, args.files), indent=1))
        return
    results = [judged(pair, record["rules"], args.files) for pair in pairs]
    for pair, result in zip(pairs, results, strict=True):
        if args.verbose or not result["named"] or result["new"]:
            print(short(pair), pair["kind"], result)
    named = sum(result["named"] for result in results)
    clean = sum(result["clean"] for result in results)
    print(f"{named} of {len(pairs)} named before; {clean} without a new warning after")


def short(pair):
    """The name of a pair's folder."""
    return f"{pair['repository'].replace('/', '+')}@{pair['after'][:8]}"


def fetch(pair, mirrors, files):
    """Writes the file and the Python files beside it, before and after."""
    at = mirrors / pair["repository"].replace("/", "+", 1)
    git = ["git", "-C", str(at / "repo" if (at / "repo").is_dir() else at)]
    parent = str(Path(pair["path"]).parent)
    for side in ("before", "after"):
        under = [] if parent == "." else [f"{parent}/"]
        listed = subprocess.run(
            [*git, "ls-tree", "--name-only", pair[side], *under], capture_output=True, text=True, check=True
        )
        for name in listed.stdout.split("\n"):
            if name.endswith((".py", ".ipynb")):
                text = subprocess.run(
                    [*git, "show", f"{pair[side]}:{name}"], capture_output=True, check=True
                ).stdout
                to = files / short(pair) / side / Path(name).name
                to.parent.mkdir(parents=True, exist_ok=True)
                to.write_bytes(text)


def found(path):
    """The findings of a file: code and severity."""
    done = subprocess.run(
        [sys.executable, "-m", "trimtab", "check", "--format", "json", str(path)],
        capture_output=True,
        text=True,
    )
    report = json.loads(done.stdout)
    return [(each["code"], each["severity"], each["line"], each["message"]) for each in report["findings"]]


def judged(pair, rules, files):
    """What a pair's rule says before and after, and what else is new after."""
    name = pair.get("read") or Path(pair["path"]).name
    before, after = (found(files / short(pair) / side / name) for side in ("before", "after"))
    codes = rules.get(pair["kind"]) or []
    first = [each for each in before if each[0] in codes]
    last = [each for each in after if each[0] in codes]
    known = {(each[0], each[3]) for each in before}
    new = [each for each in after if each[1] != "note" and (each[0], each[3]) not in known]
    return {
        "named": len(first) > len(last),
        "clean": not last and not new,
        "before": sorted({each[:2] for each in before}),
        "left": last,
        "new": new,
    }


def others(pairs, files):
    """What other linters say of each pair's file, before and after."""
    told = {}
    for tool, command in OTHERS.items():
        for pair in pairs:
            for side in ("before", "after"):
                path = files / short(pair) / side / Path(pair["path"]).name
                command_line = [part.format(path) for part in command]
                try:
                    done = subprocess.run(command_line, capture_output=True, text=True, timeout=MOST_SECONDS)
                except subprocess.TimeoutExpired:
                    told.setdefault(tool, {}).setdefault(short(pair), {})[side] = "not finished"
                    continue
                told.setdefault(tool, {}).setdefault(short(pair), {})[side] = done.stdout[-2000:]
    return told


if __name__ == "__main__":
    main()
