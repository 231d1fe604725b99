"""What the case factor does: the demo's recipe with and without it, on its validation text as it is and in capitals.

    python benchmarks/source_factors.py --out benchmarks/source_factors.json [--steps 2000] [--work runs/source_factors]

All arms have the same data, seed, steps and sizes. In capitals, the reference stays as it is: what counts is whether
the model still finds the words. 10 minutes on two cores; `--steps 20 --lines 10` is a dry run of one.
"""

import argparse
import json
import lzma
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
DEMO = ROOT / "src" / "trimtab" / "demo" / "data" / "valid.tsv.xz"
ARMS = {
    "none": [],
    "case": ["data.source_factors=[{kind: case}]"],
    "case, not lowercased": ["data.source_factors=[{kind: case, lowercase: false}]"],
}


def main() -> None:
    """Trains each arm and writes its scores."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--out", type=Path, required=True)
    options.add_argument("--steps", type=int, default=2000)
    options.add_argument("--lines", type=int, default=1000)
    options.add_argument("--work", type=Path, default=Path("runs/source_factors"))
    args = options.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    texts = written(args.work, args.lines)
    found = {name: scores(name, settings, texts, args) for name, settings in ARMS.items()}
    args.out.write_text(json.dumps({"steps": args.steps, "arms": found}, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(found, indent=2))


def written(folder: Path, limit: int) -> dict[str, Path]:
    """The validation text as it is and in capitals, and its reference."""
    with lzma.open(DEMO, "rt", encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file]
    pairs = [row[:2] for row in rows if len(row) > 1 and row[0].strip()][:limit]
    columns = {
        "as it is": [source for source, _ in pairs],
        "in capitals": [source.upper() for source, _ in pairs],
        "reference": [target for _, target in pairs],
    }
    paths = {name: folder / f"{name.replace(' ', '_')}.txt" for name in columns}
    for name, lines in columns.items():
        paths[name].write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return paths


def scores(
    name: str, settings: list[str], texts: dict[str, Path], args: argparse.Namespace
) -> dict[str, dict[str, float]]:
    """BLEU, chrF and loss of an arm on both texts."""
    run = args.work / name.replace(", ", "_").replace(" ", "_")
    every = f"{args.steps} steps"
    lengths = [
        f"length={every}",
        f"evaluate.every={every}",
        f"checkpoint.every={every}",
        "step.schedule.warmup=10 steps",
    ]
    recipe = ["train", str(ROOT / "recipes" / "demo.yaml"), "--out", str(run), "--auto-resume", "--quiet"]
    trimtab(*recipe, *lengths, *settings)
    found: dict[str, dict[str, float]] = {}
    for text in ("as it is", "in capitals"):
        files = ["--source", str(texts[text]), "--reference", str(texts["reference"])]
        told = json.loads(trimtab("evaluate", str(run), *files, "--json"))
        found[text] = {key: told[key] for key in ("bleu", "chrf", "loss")}
    return found


def trimtab(*arguments: str) -> str:
    """The output of a command; its error ends the benchmark."""
    command = [sys.executable, "-m", "trimtab", *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


if __name__ == "__main__":
    main()
