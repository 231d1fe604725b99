"""CPU seconds and scores of the recipes for images that are said to take minutes on two cores.

    python benchmarks/image_demos.py --data DIR --text TEXT --font DIR [--font DIR] --out image_demos.json

`prepare` is part of it: DIR gets 240 rendered pages, lines of the text for recognition, and the digits of scikit-learn.
Each recipe is trained as it is, in one process with one thread, so that its seconds of user time do not depend on
what else the machine does; two threads take about half of them on two cores. With `--share 0.1` the benchmark
trains for a twentieth and for a tenth of the steps; the difference gives the seconds of all steps.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from diffusion_data import write_small_digits
from record import Record

RECIPES = ("image_classification", "diffusion_demo", "detection", "recognition")
STEPS = {"image_classification": 400, "diffusion_demo": 600, "detection": 300, "recognition": 600}
LIMIT = 2 * 300
"""CPU seconds of five minutes on two cores."""


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", required=True)
    parser.add_argument("--text", required=True)
    parser.add_argument("--font", action="append", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--only", choices=RECIPES, action="append")
    args = parser.parse_args()
    data = Path(args.data)
    record = Record(
        args.out,
        question="CPU seconds of the recipes for images, in one process with one thread",
        share=args.share,
        limit=LIMIT,
    )
    for name in args.only or RECIPES:
        record.arm(name, lambda name=name: one(name, data, args))


def one(name, data, args):
    """A recipe's CPU seconds: as they are, or of all steps by what a share of them takes."""
    root, prepared = prepare(name, data, args)
    steps = STEPS[name]
    if args.share >= 1:
        seconds, rows = trained(name, root)
        return {
            "cpu_seconds": seconds,
            "within_limit": seconds <= LIMIT,
            "preparation": prepared,
            "last": rows[-1],
        }
    short, long = max(2, round(steps * args.share / 2)), max(4, round(steps * args.share))
    few, many = trained(name, root, short)[0], trained(name, root, long)[0]
    step = (many - few) / (long - short)
    whole = round(few + step * (steps - short))
    return {"cpu_seconds_a_step": round(step, 3), "cpu_seconds": whole, "within_limit": whole <= LIMIT,
            "preparation": prepared, "measured": {str(short): few, str(long): many}}  # fmt: skip


def prepare(name, data, args):
    """The folder of a recipe's data, and the CPU seconds that making it took."""
    before = own_seconds()
    if name in ("image_classification", "diffusion_demo"):
        if not (data / "small_digits").exists():
            write_small_digits(data / "small_digits")
        return data / "small_digits", round(own_seconds() - before, 1)
    root, lines = data / name, Path(args.text).read_text(encoding="utf-8").splitlines()
    if root.exists():
        return root, 0.0
    root.mkdir(parents=True)
    held, short = len(lines) // 10, [line[:60] for line in lines]
    words = {"dev": short[:held][:200], "lines": short[held:]}
    for stem, part in words.items():
        (root / f"{stem}.txt").write_text("\n".join(part) + "\n", encoding="utf-8")
    if name == "detection":
        for stem, source, count in (("train", "lines", 240), ("dev", "dev", 24)):
            fonts = [word for font in args.font for word in ("--font", font)]
            command = [
                "data",
                "render",
                root / f"{source}.txt",
                *fonts,
                "--page",
                "320x192",
                "--count",
                count,
            ]
            run([*command, "--out", root / stem])
    return root, round(own_seconds() - before, 1)


def trained(name, root, steps=None):
    """The CPU seconds of a run, and its evaluations."""
    recipe = Path(__file__).parent.parent / "recipes" / f"{name}.yaml"
    with tempfile.TemporaryDirectory() as place:
        keys = ("length", "evaluate.every", "checkpoint.every")
        shorter = [*(f"{key}={steps} steps" for key in keys), "step.schedule.warmup=1 steps"] if steps else []
        before = own_seconds()
        run(["train", recipe, f"data.root={root.resolve()}", *shorter, "--out", f"{place}/run"])
        rows = (Path(place) / "run" / "evaluations.jsonl").read_text().splitlines()
        return round(own_seconds() - before, 1), [json.loads(row) for row in rows]


def run(words):
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    subprocess.run([sys.executable, "-m", "trimtab", *map(str, words)], check=True, env=environment)


def own_seconds():
    """User and system seconds of this process and of all that it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


if __name__ == "__main__":
    main()
