"""Beam 4, MBR and a reranked n-best on English-German in one call: trains a run each way, then calls `mbr.py`.

    python benchmarks/mbr_en_de.py --data CORPORA/en-de --out benchmarks/mbr_en_de.json [--device cuda]
        [--length "1.5 minutes"] [--preset small] [--work runs/mbr_en_de] [--lines 1813]
        [--arms beam_4,mbr_chrf_32,rerank_16]

The runs are those of `recipes/en_de.yaml`. Five minutes on one GPU; what was trained is taken again, so a call that
was cut short goes on. A dry run on a CPU: `--device cpu --preset tiny --length "4 steps" --lines 8 --resamples 20
--train data.tokenizer.training_lines=2000 data.tokenizer.vocabulary_size=1000 step.tokens_per_step=512`.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
SETS = ("prose", "ui")


def main() -> None:
    """Trains both directions and measures."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--data", type=Path, required=True, help="holds {prose,ui}/{train,dev}.{en,de}.xz")
    options.add_argument("--out", type=Path, required=True)
    options.add_argument("--work", type=Path, default=Path("runs/mbr_en_de"))
    options.add_argument("--preset", default="small")
    options.add_argument("--length", default="1.5 minutes")
    options.add_argument("--device", default="cuda")
    options.add_argument("--arms", default="beam_4,mbr_chrf_32,rerank_16")
    options.add_argument("--lines", default="1813")
    options.add_argument("--resamples", default="1000")
    options.add_argument("--train", nargs="*", default=[], metavar="KEY=VALUE", help="of recipes/en_de.yaml")
    args = options.parse_args()
    runs = {name: trained(name, args) for name in ("en_de", "de_en")}
    dev = args.data.resolve() / "prose"
    files = [
        "--source",
        str(dev / "dev.en.xz"),
        "--reference",
        str(dev / "dev.de.xz"),
        "--out",
        str(args.out),
    ]
    chosen = [
        "--device",
        args.device,
        "--arms",
        args.arms,
        "--lines",
        args.lines,
        "--resamples",
        args.resamples,
    ]
    models = ["--run", str(runs["en_de"]), "--reverse", str(runs["de_en"])]
    subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / "mbr.py"), *models, *files, *chosen], check=True
    )


def trained(direction: str, args: argparse.Namespace) -> Path:
    """The run of a direction, trained unless it is there."""
    source, target = direction.split("_")
    pairs = {
        split: {
            name: {"source": f"{name}/{split}.{source}.xz", "target": f"{name}/{split}.{target}.xz"}
            for name in SETS
        }
        for split in ("train", "dev")
    }
    run = args.work / direction
    changes = {
        "data.root": str(args.data.resolve()),
        "data.train": list(pairs["train"].values()),
        "data.valid": {"prose": pairs["dev"]["prose"]},
        "model.preset": args.preset,
        "length": args.length,
    }
    settings = [f"{key}={json.dumps(value)}" for key, value in changes.items()]
    fixed = ["evaluate.every=100000 steps", "evaluate.lines=50", "checkpoint.every=100000 steps"]
    if args.length.endswith("steps"):
        fixed.append("step.schedule.warmup=1 steps")
    command = ["train", str(ROOT / "recipes" / "en_de.yaml"), "--out", str(run), "--auto-resume", "--quiet"]
    subprocess.run([sys.executable, "-m", "trimtab", *command, *settings, *fixed, *args.train], check=True)
    return run


if __name__ == "__main__":
    main()
