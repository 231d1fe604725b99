"""What the case factor does: the demo's recipe with and without it, on its validation text as it is and in capitals.

    python benchmarks/source_factors.py --out benchmarks/source_factors.json [--steps 2000] [--seeds 1,2,3]
        [--tokens 4096] [--work runs/source_factors]

All arms have the same data, steps and sizes, and each seed is run in every arm. In capitals, the reference stays as it
is: what counts is whether the model still finds the words. Written before the first run: in capitals the arm `case`
has at least 10 chrF more than `none`; on the text as it is the arms lie within 0.5 chrF. Five minutes on a GPU;
`--steps 20 --lines 10 --tokens 512 --seeds 1` is a dry run.
"""

import argparse
import json
import lzma
import subprocess
import sys
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

from record import Record

ROOT = Path(__file__).parent.parent
DEMO = ROOT / "src" / "trimtab" / "demo" / "data" / "valid.tsv.xz"
QUESTION = "What does a source factor for case do to text as it is, and to text in capitals?"
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
    options.add_argument("--seeds", default="1,2,3")
    options.add_argument("--tokens", type=int, default=4096, help="of a step")
    options.add_argument("--work", type=Path, default=Path("runs/source_factors"))
    args = options.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    texts = written(args.work, args.lines)
    record = Record(args.out, question=QUESTION, steps=args.steps, tokens_per_step=args.tokens)
    for seed in args.seeds.split(","):
        for name, settings in ARMS.items():
            record.arm(
                f"{name}, seed {seed}", partial(scores, name, [*settings, f"seed={seed}"], texts, args)
            )
    means = {name: means_of(record.result["arms"], name) for name in ARMS}
    record.result["means"] = means
    record.write()
    print(json.dumps(means, indent=2))


def means_of(arms: dict[str, Any], name: str) -> dict[str, dict[str, float]]:
    """The means over the seeds of an arm."""
    of_arm = [scores for arm, scores in arms.items() if arm.startswith(f"{name}, seed ")]
    return {
        text: {
            key: round(fmean(scores[text][key] for scores in of_arm), 3) for key in ("bleu", "chrf", "loss")
        }
        for text in ("as it is", "in capitals")
    }


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
    run = args.work / "_".join(f"{name} {settings[-1]}".replace(",", "").replace("=", " ").split())
    every = f"{args.steps} steps"
    lengths = [
        f"length={every}",
        f"evaluate.every={every}",
        f"checkpoint.every={every}",
        f"step.schedule.warmup={max(args.steps // 10, 1)} steps",
        f"step.tokens_per_step={args.tokens}",
        f"step.tokens_per_micro_batch={args.tokens}",
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
