"""Reads real lines with a model that has seen rendered text alone: trained for some minutes on one GPU.

    python benchmarks/recognition.py --data DIR --out recognition.json [--minutes 5] [--head ctc] [--preset small]

DIR is what `recognition_lines.py` prepared. `recognition_others.py` reads the same lines with RapidOCR and Tesseract.
With `--dry-run` it trains a tiny model for a few steps on a CPU, to see that everything runs.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path

from plain_progress import PlainProgress
from record import Record

import trimtab
from trimtab.metrics.catalogue import OF_READINGS
from trimtab.metrics.metric import Readings
from trimtab.tasks.recognition.recognizer import load_recognizer


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--run", help="keep the run here")
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--head", default="ctc", choices=("ctc", "attention", "both"))
    parser.add_argument("--preset", default="small")
    parser.add_argument("--workers", type=int, default=14)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--dry-run", action="store_true")
    args = parser.parse_args()
    record = Record(
        args.out,
        question="CER on real lines of a model that was trained on rendered text alone",
        minutes=args.minutes,
        recipe=recipe_of(args),
    )
    name = f"trimtab, {args.head}, preset {args.preset}, {args.minutes:g} minutes"
    record.arm(name, lambda: train_and_read(args))


def recipe_of(args):
    data = Path(args.data).resolve()
    length = "4 steps" if args.dry_run else f"{args.minutes:g} minutes"
    size = {"dim": 32, "heads": 2, "layers": 1, "feed_forward": 64, "decoder_layers": 1}
    return {
        "task": "recognition",
        "data": {
            "train": [{"text": str(data / "train.txt"), "render": {"fonts": [str(data / "fonts")]}}],
            "valid": {
                "rendered": {"text": str(data / "dev.txt"), "render": {"fonts": [str(data / "fonts")]}},
                **{name.name: {"images": str(name)} for name in sorted((data / "real").iterdir())},
            },
            "images": {"size": 32, "max_width": 1536},
            "max_tokens": 128,
            "workers": 0 if args.dry_run else args.workers,
        },
        "model": {
            "kind": "vision",
            "head": args.head,
            "dropout": 0.05,
            **(size if args.dry_run else {"preset": args.preset}),
        },
        "step": {
            "tokens_per_step": 512 if args.dry_run else 8192,
            "compile": "off",
            "optimizer": {
                "kind": "adamw",
                "learning_rate": 1.0e-3,
                "betas": [0.9, 0.98],
                "weight_decay": 0.01,
            },
            "schedule": {"kind": "cosine", "warmup": "2 steps" if args.dry_run else "0.25 minutes"},
        },
        "length": length,
        "evaluate": {
            "every": "2 steps" if args.dry_run else "1 minutes",
            "best": {"set": "rendered", "metric": "cer"},
        },
        "checkpoint": {"every": "4 steps" if args.dry_run else "2 minutes"},
        "seed": args.seed,
    }


def train_and_read(args):
    with tempfile.TemporaryDirectory() as place:
        run = Path(args.run or Path(place) / "run")
        begun = time.perf_counter()
        result = trimtab.train(recipe_of(args), out=run, progress=PlainProgress())
        trained = time.perf_counter() - begun
        sets = sorted((Path(args.data) / "real").iterdir())
        found = {each.name: read(run, each) for each in sets}
        evaluations = [json.loads(line) for line in (run / "evaluations.jsonl").read_text().splitlines()]
        metrics = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return {
        "lines": found,
        "steps": result.state.step,
        "characters": result.state.target_tokens,
        "run_seconds": round(trained, 1),
        "characters_per_second": round(result.state.target_tokens / max(1e-9, result.state.seconds)),
        "last_loss": metrics[-1]["loss"],
        "curve": [{key: each[key] for key in ("step", "set", "loss", "cer")} for each in evaluations],
        "findings": [f"{each.code} {each.message}" for each in result.findings],
    }


def read(run, folder):
    """Scores of a folder of real lines, and the first few that are read wrongly."""
    rows = [line.split("\t", 1) for line in (folder / "labels.tsv").read_text(encoding="utf-8").splitlines()]
    recognizer = load_recognizer(run)
    images = [folder / name for name, _ in rows]
    list(recognizer.recognize(images[:4]))
    begun = time.perf_counter()
    outputs = [each.text for each in recognizer.recognize(images)]
    seconds = time.perf_counter() - begun
    references = [text for _, text in rows]
    given = Readings(outputs=outputs, references=references)
    wrong = [pair for pair in zip(references, outputs, strict=True) if pair[0] != pair[1]][:8]
    scores = {name: round(metric.compute(given), 4) for name, metric in OF_READINGS.items()}
    return {**scores, "count": len(rows), "seconds": round(seconds, 2), "wrong": wrong}


if __name__ == "__main__":
    main()
