"""Finds text lines on rendered pages: the native aspect ratio against a square at equal pixels, and losses of boxes.

    python benchmarks/detection.py prepare --data DIR --text TEXT --font DIR [--font DIR] [--pages 900] [--size 768x432]
    python benchmarks/detection.py run --data DIR --out detection.json [--steps 900] [--jobs 4] [--seconds 510]
    python benchmarks/detection.py run --of backbone --data DIR --before OTHER --out detection_backbone.json

`prepare` draws pages of one size as JPEG files, which takes minutes on a CPU and about 45 kB a page. `run` trains a
D-FINE for each arm and seed, several at once on one GPU: native and squash with the same five seeds (`--of aspect`);
DIoU and GIoU beside CIoU with three (`--of losses`); or on the 60 pages of `few.json` alone a backbone that was trained
on the pages of --before, and a random one, with five seeds (`--of backbone`). By default it is the first two. Each
curve has predictions per object with and without NMS at six moments. What has not begun or ended after --seconds is
left out, and the result says so. With `--dry-run` each run has a few steps of a tiny model on a CPU.

`PREDICTIONS` were written before the runs that they are about. Squashing a page to a square of as many pixels makes it
finer in one direction and coarser in the other: text lines, which are thin, should gain from it on pages that are wider
than high and lose on pages that are higher than wide.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

from record import Record

SEEDS, LOSS_SEEDS = (1, 2, 3, 4, 5), (1, 2, 3)
CANVAS = 320
FEW = 60
"""Pages of `few.json`."""
PREDICTIONS = (
    # of, pages, arm, than, relative AP at least
    ("aspect", "432x768", "native/ciou", "squash/ciou", 0.1),
    ("aspect", "768x432", "squash/ciou", "native/ciou", 0.1),
    ("backbone", "432x768", "pretrained/ciou", "random/ciou", 0.1),
)
KEPT = ("ap", "ap50", "ap75", "ap_nms", "predictions_per_object", "predictions_per_object_nms", "loss")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("prepare", "run", "one"))
    parser.add_argument("--data", required=True)
    parser.add_argument("--out")
    parser.add_argument("--text")
    parser.add_argument("--font", action="append", default=[])
    parser.add_argument("--pages", type=int, default=900)
    parser.add_argument("--size", default="768x432")
    parser.add_argument("--of", choices=("aspect", "losses", "backbone"), action="append", default=[])
    parser.add_argument("--before", help="pages that a backbone is trained on first")
    parser.add_argument("--begin", help="a run whose backbone is taken")
    parser.add_argument("--steps", type=int, default=900)
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=510)
    parser.add_argument("--preset", default="tiny")
    parser.add_argument("--arm")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--dry-run", action="store_true")
    args = parser.parse_args()
    if args.what == "prepare":
        prepare(args)
    elif args.what == "one":
        one(args)
    else:
        run(args)


def prepare(args):
    """Pages to train and to test on, of different lines of the text."""
    from PIL import Image

    from trimtab.progress import Silent
    from trimtab.tasks.detection.pages import write_pages

    out = Path(args.data)
    out.mkdir(parents=True, exist_ok=True)
    lines = Path(args.text).read_text(encoding="utf-8").splitlines()
    held, size = max(1, len(lines) // 10), tuple(int(each) for each in args.size.split("x"))
    parts = {"train": (lines[held:], args.pages), "test": (lines[:held], max(4, args.pages // 9))}
    for seed, (name, (text, count)) in enumerate(parts.items(), 1):
        words = out / f"{name}.txt"
        words.write_text("\n".join(text) + "\n", encoding="utf-8")
        write_pages(
            words, out / name, fonts=args.font, sizes=[size], count=count, seed=seed, progress=Silent()
        )
        tree = json.loads((out / name / "boxes.json").read_text())
        for each in tree["images"]:
            place = out / name / "images" / each["file_name"]
            with Image.open(place) as image:
                image.convert("RGB").save(place.with_suffix(".jpg"), quality=80)
            place.unlink()
            each["file_name"] = place.with_suffix(".jpg").name
        (out / name / "boxes.json").write_text(json.dumps(tree))
        (out / name / "few.json").write_text(json.dumps(first_pages(tree, FEW)))
        print(f"{name}: {count} pages, {len(tree['annotations'])} lines")


def first_pages(tree, count):
    """The boxes of the first pages alone."""
    kept = tree["images"][:count]
    ids = {each["id"] for each in kept}
    boxes = [each for each in tree["annotations"] if each["image_id"] in ids]
    return tree | {"images": kept, "annotations": boxes}


def recipe_of(args):
    """The recipe of an arm: `native/ciou`, `squash/ciou`, `native/giou`, `pretrained/ciou` ..."""
    kind, iou = args.arm.split("/")
    fit = kind if kind in ("native", "squash") else "native"
    pages = "few.json" if kind in ("pretrained", "random") else "boxes.json"
    begin = {"warm_start": args.begin, "warm_start_part": "backbone"} if kind == "pretrained" else {}
    data, dry = Path(args.data).resolve(), args.dry_run
    size = {"dim": 16, "heads": 2, "decoder_layers": 2, "feed_forward": 16, "backbone_width": 16}
    steps = 4 if dry else args.steps
    return {
        "task": "detection",
        "data": {
            "train": [{"boxes": str(data / "train" / pages)}],
            "valid": {"boxes": str(data / "test" / "boxes.json")},
            "canvas": {"fit": fit, "size": 160 if dry else CANVAS, "augment": {"flip": 0.0, "crop": 0.0}},
            "workers": 0 if dry else max(1, (os.cpu_count() or 4) // (args.jobs + 1)),
        },
        "model": {
            "kind": "detector",
            "queries": 250,
            **begin,
            **(size if dry else {"preset": args.preset}),
        },
        "loss": {"boxes": {"iou": iou}},
        "step": {
            "tokens_per_step": 4 if dry else 16,
            "optimizer": {"kind": "adamw", "learning_rate": 1.0e-3, "weight_decay": 1.0e-4},
            "schedule": {"kind": "cosine", "warmup": f"{max(1, steps // 20)} steps"},
            "clip": {"kind": "global_norm", "at": 1.0},
        },
        "length": f"{steps} steps",
        "evaluate": {
            "every": f"{max(2, steps // 6)} steps",
            "lines": 4 if dry else None,
            "samples": 0,
            "metrics": [name for name in KEPT if name != "loss"],
        },
        "checkpoint": {"every": f"{steps} steps", "write": kind == "before"},
        "seed": args.seed,
    }


def one(args):
    """Trains one arm with one seed, and writes its evaluations."""
    from plain_progress import PlainProgress

    import trimtab

    folder = Path(args.out)
    begun = time.perf_counter()
    result = trimtab.train(recipe_of(args), out=folder / "run", progress=PlainProgress())
    rows = [json.loads(line) for line in (folder / "run" / "evaluations.jsonl").read_text().splitlines()]
    curve = [{key: row[key] for key in ("step", *KEPT) if key in row} for row in rows]
    found = {
        "curve": curve,
        "steps": result.state.step,
        "skips": result.state.skips,
        "run_seconds": round(time.perf_counter() - begun, 1),
    }
    (folder / "result.json").write_text(json.dumps(found))


def run(args):
    """All arms, several at once, until the time is over."""
    arms = {
        "aspect": [(f"{fit}/ciou", seed) for seed in SEEDS for fit in ("native", "squash")],
        "losses": [(f"native/{iou}", seed) for seed in LOSS_SEEDS for iou in ("giou", "diou")],
        "backbone": [(f"{kind}/ciou", seed) for seed in SEEDS for kind in ("pretrained", "random")],
    }
    waiting = [each for name in args.of or ("aspect", "losses") for each in arms[name]]
    waiting = waiting[: 2 if args.dry_run else None]
    record = Record(
        args.out,
        question="AP of text lines on rendered 16:9 pages, native aspect against squash at equal pixels; box losses",
        steps=args.steps,
        canvas=CANVAS,
        preset=args.preset,
        predictions=[
            dict(zip(("of", "pages", "arm", "than", "least"), each, strict=True)) for each in PREDICTIONS
        ],
    )
    begun, running, left_out = time.perf_counter(), {}, []
    place = Path(args.out).resolve().with_suffix("")
    if "backbone" in args.of:
        args.begin = trained_before(args, record, place / "before")
    while waiting or running:
        over = time.perf_counter() - begun > args.seconds
        while waiting and len(running) < args.jobs and not over:
            arm, seed = waiting.pop(0)
            running[arm, seed] = start(args, arm, seed, place / f"{arm.replace('/', '-')}-{seed}")
        for key, (child, folder) in list(running.items()):
            if child.poll() is None and not over:
                continue
            if child.poll() is None:
                stop(child)
            del running[key]
            finish(record, key, folder, left_out)
        if over:
            left_out += [f"{arm}, seed {seed}" for arm, seed in waiting]
            waiting = []
        time.sleep(0.2)
    record.result["left_out"] = left_out
    record.result["verdict"] = verdict(record.arms)
    record.write()
    print(json.dumps(record.result["verdict"], indent=1))


def trained_before(args, record, folder):
    """The run whose backbone others begin with, on other pages."""
    told = argparse.Namespace(**{**vars(args), "data": args.before})
    child, _ = start(told, "before/ciou", 1, folder)
    if child.wait():
        raise SystemExit((folder / "log.txt").read_text()[-1500:])
    record.arm("before/ciou", lambda: json.loads((folder / "result.json").read_text()))
    return str(folder / "run")


def stop(child):
    """Ends a run and its workers; by force only if it does not end by itself."""
    child.terminate()
    try:
        child.wait(15)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


def start(args, arm, seed, folder):
    """A process of its own for a run, with its output in a file."""
    shutil.rmtree(folder, ignore_errors=True)  # of an earlier call
    folder.mkdir(parents=True, exist_ok=True)
    told = ["one", "--data", args.data, "--out", str(folder), "--arm", arm, "--seed", str(seed)]
    told += ["--begin", args.begin] if args.begin else []
    told += ["--steps", str(args.steps), "--jobs", str(args.jobs), "--preset", args.preset]
    command = [sys.executable, str(Path(__file__).resolve()), *told, *(["--dry-run"] if args.dry_run else [])]
    with (folder / "log.txt").open("w") as log:
        environment = {**os.environ, "OMP_NUM_THREADS": "1" if args.dry_run else "2"}
        return subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=environment), folder


def finish(record, key, folder, left_out):
    """Takes over what a run has written, or the end of its log."""
    arm, seed = key
    if (folder / "result.json").exists():
        record.arm(f"{arm}, seed {seed}", lambda: json.loads((folder / "result.json").read_text()))
        return
    left_out.append(f"{arm}, seed {seed}")
    print("LEFT OUT", arm, seed, (folder / "log.txt").read_text()[-1500:], flush=True)


def verdict(arms):
    """The mean of the last AP of each arm, and the relative gain of native over squash seed by seed."""
    last = {name: arm["curve"][-1] for name, arm in arms.items() if arm["curve"]}
    kinds = sorted({name.split(",")[0] for name in last})
    found = {}
    for kind in kinds:
        rows = [row for name, row in last.items() if name.split(",")[0] == kind]
        found[kind] = {
            key: round(statistics.fmean(row[key] for row in rows), 4)
            for key in KEPT
            if all(isinstance(row.get(key), int | float) for row in rows)
        } | {"seeds": len(rows)}
    for one, other in (("native", "squash"), ("pretrained", "random")):
        pairs = [
            (last[f"{one}/ciou, seed {seed}"]["ap"], last[f"{other}/ciou, seed {seed}"]["ap"])
            for seed in SEEDS
            if {f"{one}/ciou, seed {seed}", f"{other}/ciou, seed {seed}"} <= last.keys()
        ]
        gains = [ap / less - 1 for ap, less in pairs if less]
        if gains:
            found[f"{one} over {other}, relative AP"] = {
                "by_seed": [round(gain, 4) for gain in gains],
                "mean": round(statistics.fmean(gains), 4),
                "seeds_won": sum(gain > 0 for gain in gains),
            }
    return found


if __name__ == "__main__":
    main()
