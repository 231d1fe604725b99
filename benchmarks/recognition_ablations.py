"""What a recognizer of text lines gains from the shape of its images, positions, registers, pixels and parameters.

    python benchmarks/recognition_ablations.py lines --text CORPORA --data DIR
    python benchmarks/recognition_ablations.py prepare --data DIR --fonts DIR
    python benchmarks/recognition_ablations.py run --data DIR --out FILE.json [--jobs 8] [--seconds 560]

`lines` cuts real prose into lines (see `recognition_lines.py`). `prepare` draws each of them once in fonts of Debian's
fonts-dejavu-core and fonts-liberation, and stores it in the shape of each arm; two typefaces of `HELD` are for testing
alone. `run` trains every arm with three seeds, several at once on one GPU; lengths are in steps, so that
neighbors change no result. It writes its file after every run and takes what is there, so that the same call continues
after `--seconds` are over. `--factor shape` runs the arms of that factor alone. With `--dry-run`, a few steps of a tiny
model on a CPU.

An arm differs from `native` in one thing, and `native again` in none: where a file is continued on other software, it
shows by how much that moves a result. Arms of a seed see the same lines in the same order. The measure is the
character error rate, in percent, of the last step on 400 lines of four test sets: `seen` (fonts of the training, other
text), `unseen` (other typefaces), `dark` (light ink on dark paper) and `grey` (darker paper than any that was trained
on). `PREDICTIONS` were written before the first run; a prediction is judged as `docs/how_to/lab.md` says, by the paired
t-test over seeds with the corrected p-values of Holm.
"""

import argparse
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps
from recognition_lines import paragraphs_of, wrapped
from record import Record

SEEDS = (1, 2, 3)
HEIGHT, CANVAS = 32, 768
SETS = ("seen", "unseen", "dark", "grey")
HELD = re.compile("DejaVuSerif|LiberationMono")
PREDICTIONS = (
    # arm, than, set, expected, margin in points of CER, why
    ("squash", "native", "unseen", "worse", 0.5, "letters of long lines are narrowed to two thirds (S0-51)"),
    ("squash", "native", "dark", "worse", 2.0, "a new background makes such models invent text (S0-51)"),
    (
        "letterbox without mask",
        "letterbox with mask",
        "unseen",
        "worse",
        0.5,
        "padding is never learned (S0-52)",
    ),
    ("letterbox with mask", "native", "unseen", "worse", 0.2, "only lines above 768 pixels are made smaller"),
    ("longest side", "native", "unseen", "same", 0.5, "as good for lines, most of which are long (S0-55)"),
    ("inverted too", "native", "dark", "better", 5.0, "an augmentation that shows dark paper"),
    ("no augmentation", "native", "unseen", "worse", 0.5, "fonts are few"),
    ("registers 4", "native", "unseen", "same", 0.3, "small models have no artefact tokens (S0-53)"),
    ("registers 8", "native", "unseen", "same", 0.3, "the same"),
    ("letterbox without mask, registers 4", "letterbox without mask", "unseen", "same", 0.5, "against S0-53"),
    ("factorised positions", "native", "unseen", "same", 0.3, "one row of patches: rows say nothing (S0-56)"),
    (
        "sinusoidal positions",
        "native",
        "unseen",
        "same",
        0.3,
        "fixed sines suffice for reading left to right",
    ),
    ("16 pixels", "native", "unseen", "worse", 1.0, "a quarter of the pixels, as many patches"),
    ("64 pixels", "native", "unseen", "better", 0.2, "four times the pixels, as many patches (S0-59)"),
    (
        "16 pixels, 5 times the parameters",
        "native",
        "unseen",
        "worse",
        0.5,
        "larger images beat larger models",
    ),
    ("linear patches", "native", "unseen", "worse", 0.5, "convolutions early help (arXiv 2106.14881)"),
    ("both heads, read by CTC", "native", "unseen", "same", 0.5, "the decoder shares the encoder"),
)
ARMS = {
    "shape": {
        "native": {},
        "squash": {"lines": "squash"},
        "letterbox without mask": {"lines": "unmasked"},
        "letterbox with mask": {"lines": "masked"},
        "longest side": {"data.images.size": 2 * HEIGHT, "lines": "longest"},
    },
    "repetition": {"native again": {}},
    "background": {
        "inverted too": {"data.images.augment.invert": 0.1},
        "no augmentation": {"data.images.augment": None},
    },
    "registers": {
        "registers 4": {"model.registers": 4},
        "registers 8": {"model.registers": 8},
        "letterbox without mask, registers 4": {"model.registers": 4, "lines": "unmasked"},
    },
    "positions": {
        "factorised positions": {"model.positions": "factorised"},
        "sinusoidal positions": {"model.positions": "sinusoidal"},
    },
    "resolution": {
        "16 pixels": {"data.images.size": 16, "model.patch": [16, 2], "lines": "low"},
        "64 pixels": {"data.images.size": 64, "model.patch": [64, 8], "lines": "high"},
        "16 pixels, 5 times the parameters": {
            "data.images.size": 16, "model.patch": [16, 2], "lines": "low", "model.preset": "small",
        },
        "5 times the parameters": {"model.preset": "small"},
    },
    "stem": {"linear patches": {"model.stem": "patch"}},
    "head": {
        "both heads, read by CTC": {"model.head": "both"},
        "both heads, read by the decoder": {"model.head": "both"},
    },
}  # fmt: skip
SHAPES = ("own", "natural", "squash", "unmasked", "masked", "longest", "low", "high")
"""Folders of the prepared lines; `own` is that of `native`."""


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("lines", "prepare", "run", "one"))
    parser.add_argument("--data", required=True)
    parser.add_argument("--text", help="a folder with mono/{en,de}/{train,dev}.txt.xz, for `lines`")
    parser.add_argument("--fonts", help="a folder with .ttf files, for `prepare`")
    parser.add_argument("--lines", type=int, default=16000)
    parser.add_argument("--test-lines", type=int, default=400)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--out")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=560)
    parser.add_argument("--factor", action="append", choices=(*ARMS,))
    parser.add_argument("--arm")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("--part", help=argparse.SUPPRESS)
    args = parser.parse_args()
    prepared = prepare if args.part is None else draw
    {"lines": lines, "prepare": prepared, "run": run, "one": one}[args.what](args)


def lines(args):
    """train.txt and test.txt: lines of 1 to 105 characters, of other paragraphs each."""
    out, draw = Path(args.data), random.Random(1)
    out.mkdir(parents=True, exist_ok=True)
    for name, part, most in (("train", "train", args.lines), ("test", "dev", args.test_lines)):
        paragraphs = [each for lang in ("en", "de") for each in paragraphs_of(Path(args.text), lang, part)]
        draw.shuffle(paragraphs)
        (out / f"{name}.txt").write_text(
            "".join(f"{each}\n" for each in wrapped(paragraphs, draw, most=most))
        )


def prepare(args):
    """Draws all lines, in the shape of each arm, with a list of each folder."""
    out = Path(args.data)
    for name in (*SETS, "train"):
        for shape in SHAPES:
            shutil.rmtree(out / name / shape, ignore_errors=True)
            (out / name / shape).mkdir(parents=True)
    parts = [f"{number}/{args.processes}" for number in range(args.processes)]
    command = [sys.executable, *sys.argv, "--part"]
    children = [subprocess.Popen([*command, part]) for part in parts]
    ends = [child.wait() for child in children]
    if any(ends):
        raise SystemExit("a process that draws lines failed")
    rows = [row for part in parts for row in json.loads(rows_of(out, part).read_text(encoding="utf-8"))]
    for name in (*SETS, "train"):
        own = sorted((file, text) for owner, file, text in rows if owner == name)
        for shape in SHAPES:
            listed = "".join(f"{file}\t{text}\n" for file, text in own)
            (out / name / shape / "labels.tsv").write_text(listed, encoding="utf-8")
        print(f"{name}: {len(own)} lines", flush=True)


def rows_of(out, part):
    """Where a process that draws lists what it drew."""
    return out / f"rows-{part.replace('/', '-of-')}.json"


def draw(args):
    """Every so many-th line, of this process."""
    out, (first, step) = Path(args.data), map(int, args.part.split("/"))
    train, test = (
        (out / f"{name}.txt").read_text(encoding="utf-8").splitlines() for name in ("train", "test")
    )
    if args.dry_run:
        train, test = train[:60], test[:8]
    found = sorted(str(path) for path in Path(args.fonts).rglob("*.ttf"))
    held = [path for path in found if HELD.search(path)]
    usual = [path for path in found if path not in held]
    if not held or not usual:
        raise SystemExit(
            f"--fonts: {args.fonts} has {len(found)} fonts; needed are those of {HELD.pattern} and others"
        )
    fonts = {"train": usual, "seen": usual, "unseen": held, "dark": usual, "grey": usual}
    work = [
        (out, name, number, each, tuple(fonts[name]))
        for name in fonts
        for number, each in enumerate(train if name == "train" else test)
    ]
    rows = [row for each in work[first::step] if (row := draw_line(*each))]
    rows_of(out, args.part).write_text(json.dumps(rows), encoding="utf-8")


def draw_line(out, name, number, text, fonts):
    """One line in all shapes; None where no font has its characters."""
    from trimtab.config.images import Rendering
    from trimtab.data.order import random_stream
    from trimtab.tasks.images.pixels import BadImage
    from trimtab.tasks.images.rendering import render_line

    paper = {"background": (95, 150), "ink": (0, 40)} if name == "grey" else {}
    # The same number gives the same drawing in the sets that differ in paper or typeface alone.
    rng = random_stream(0 if name == "train" else 1, number)
    try:
        image = render_line(text, Rendering(fonts=fonts, **paper), font_set(fonts), rng=rng)
    except BadImage:
        return None
    image = ImageOps.invert(image) if name == "dark" else image
    file = f"{number:06d}.png"
    for shape in SHAPES:
        shaped(image, shape).save(out / name / shape / file, compress_level=1)
    return name, file, text


_FONTS = {}


def font_set(paths):
    """The fonts of some folders, opened once a process."""
    from trimtab.tasks.images.fonts import open_fonts

    if paths not in _FONTS:
        _FONTS[paths] = open_fonts(paths, key="--font")
    return _FONTS[paths]


def shaped(image, shape):
    """A line as an arm reads it, at the height that `fit: height` then leaves as it is."""
    from trimtab.config.images import ImageConfig
    from trimtab.tasks.images.pixels import fitted

    if shape == "natural":
        return image
    if shape in ("own", "low", "high"):
        size = {"own": HEIGHT, "low": HEIGHT // 2, "high": HEIGHT * 2}[shape]
        return fitted(image, ImageConfig(size=size, max_width=48 * size))
    if shape == "squash":
        return image.resize((CANVAS, HEIGHT), Image.Resampling.BICUBIC)
    height = 2 * HEIGHT if shape == "longest" else HEIGHT  # short lines would become as high as pages
    scale = min(height / image.height, CANVAS / image.width)
    size = max(1, round(image.width * scale)), max(1, round(image.height * scale))
    small = image.resize(size, Image.Resampling.BICUBIC)
    pixels = np.asarray(small)
    paper = int(np.median(np.concatenate([pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1]])))
    sheet = Image.new("L", (CANVAS if shape == "unmasked" else size[0], height), paper)
    sheet.paste(small, (0, 0))
    return sheet


def overrides_of(arm):
    """What an arm differs in, and the folder of its lines."""
    changes = next(dict(arms[arm]) for arms in ARMS.values() if arm in arms)
    return changes.pop("lines", "own"), changes


def recipe_of(args):
    shape, changes = overrides_of(args.arm)
    data, dry, steps = Path(args.data).resolve(), args.dry_run, args.steps
    size = {"dim": 16, "heads": 2, "layers": 1, "feed_forward": 32, "decoder_layers": 1}
    tree = {
        "task": "recognition",
        "data": {
            "train": [{"images": str(data / "train" / shape)}],
            "valid": {"seen": {"images": str(data / "seen" / shape)}},
            "images": {
                "size": HEIGHT,
                "max_width": 3072,
                "augment": {"invert": 0.0},
            },
            "max_tokens": 112,
            "workers": 0 if dry else max(1, (os.cpu_count() or 4) // args.jobs),
        },
        "model": {"kind": "vision", "head": "ctc", "dropout": 0.05, "preset": "tiny"},
        "step": {
            "tokens_per_step": 512 if dry else 4096,
            "tokens_per_micro_batch": 512 if dry else 4096,
            "compile": "off",
            "optimizer": {
                "kind": "adamw",
                "learning_rate": 1.0e-3,
                "betas": [0.9, 0.98],
                "weight_decay": 0.01,
            },
            "schedule": {"kind": "cosine", "warmup": f"{max(1, steps // 10)} steps"},
        },
        "length": f"{steps} steps",
        "evaluate": {
            "every": f"{max(1, steps // 2)} steps",
            "samples": 0,
            "best": {"set": "seen", "metric": "cer"},
        },
        "checkpoint": {"every": f"{steps} steps", "keep": 1},
        "seed": args.seed,
    }
    for key, value in changes.items():
        *path, last = key.split(".")
        place = tree
        for part in path:
            place = place[part]
        place[last] = value
    if dry:
        tree["model"] = {**{key: value for key, value in tree["model"].items() if key != "preset"}, **size}
    return tree


def one(args):
    """Trains one arm with one seed, and reads the test sets with its last weights."""
    from plain_progress import PlainProgress

    import trimtab

    with tempfile.TemporaryDirectory() as place:
        run, begun = Path(place) / "run", time.perf_counter()
        result = trimtab.train(recipe_of(args), out=run, progress=PlainProgress())
        seconds = time.perf_counter() - begun
        head = "attention" if args.arm.endswith("the decoder") else "ctc"
        recognizer = trimtab.load_recognizer(f"{run}@last", head=head)
        shape, _ = overrides_of(args.arm)
        scores = {name: scores_of(recognizer, Path(args.data) / name, shape) for name in SETS}
    found = {
        **scores,
        "parameters": sum(each.numel() for each in recognizer.model.parameters()),
        "steps": result.state.step,
        "characters": result.state.target_tokens,
        "training_seconds": round(result.state.seconds, 1),
        "run_seconds": round(seconds, 1),
        "skips": result.state.skips,
    }
    Path(args.out).write_text(json.dumps(found))


def scores_of(recognizer, folder, shape):
    """CER of a test set in percent, of all lines and of each quarter by aspect ratio."""
    from trimtab.metrics.catalogue import OF_READINGS
    from trimtab.metrics.metric import Readings

    rows = [
        each.split("\t", 1)
        for each in (folder / shape / "labels.tsv").read_text(encoding="utf-8").splitlines()
    ]
    outputs = [each.text for each in recognizer.recognize([folder / shape / name for name, _ in rows])]
    ratios = []
    for name, _ in rows:
        with Image.open(folder / "natural" / name) as image:
            ratios.append(image.width / image.height)
    order = np.argsort(ratios)

    def cer(numbers):
        given = Readings(outputs=[outputs[n] for n in numbers], references=[rows[n][1] for n in numbers])
        return round(100 * OF_READINGS["cer"].compute(given), 3)

    return {
        "cer": cer(range(len(rows))),
        "cer_by_aspect": [cer(part.tolist()) for part in np.array_split(order, 4)],
    }


def run(args):
    """All arms and seeds, several at once, until the time is over; what the file has is not done again."""
    keys = ("arm", "than", "set", "expect", "margin", "because")
    record = Record(
        args.out,
        question="What a recognizer gains from shape, positions, registers, pixels, parameters and augmentation",
        steps=args.steps,
        seeds=SEEDS,
        predictions=[dict(zip(keys, each, strict=True)) for each in PREDICTIONS],
    )
    take_what_is_there(record, args.steps)
    factors = [arms for factor, arms in ARMS.items() if not args.factor or factor in args.factor]
    names = [(arm, seed) for arms in factors for seed in SEEDS for arm in arms]
    waiting = [each for each in names if key_of(*each) not in record.arms][: 3 if args.dry_run else None]
    begun, running = time.perf_counter(), {}
    with tempfile.TemporaryDirectory() as place:
        try:
            while waiting or running:
                over = time.perf_counter() - begun > args.seconds
                while waiting and len(running) < args.jobs and not over:
                    arm, seed = waiting.pop(0)
                    running[arm, seed] = start(args, arm, seed, Path(place) / f"{len(waiting)}")
                for (arm, seed), child in list(running.items()):
                    if child[0].poll() is not None or over:
                        del running[arm, seed]
                        finish(record, key_of(arm, seed), *child)
                waiting = [] if over else waiting
                time.sleep(0.2)
        finally:
            for child, _ in running.values():
                child.terminate()
    record.result["left_out"] = [key_of(*each) for each in names if key_of(*each) not in record.arms]
    record.result["verdict"] = verdict(record.arms)
    record.write()
    print(json.dumps(record.result["verdict"], indent=1, ensure_ascii=False))


def key_of(arm, seed):
    return f"{arm}, seed {seed}"


def take_what_is_there(record, steps):
    """The runs of an earlier call of the same length."""
    if not record.out.exists():
        return
    told = json.loads(record.out.read_text(encoding="utf-8"))
    if told.get("steps") != steps:
        raise SystemExit(
            f"{record.out}: has runs of {told.get('steps')} steps, not of {steps}; name another file"
        )
    record.arms.update(told["arms"])


def start(args, arm, seed, stem):
    """A process of its own for a run, with its output in a file."""
    out = stem.with_suffix(".json")
    told = ["one", "--data", args.data, "--out", str(out), "--arm", arm, "--seed", str(seed)]
    told += ["--steps", str(args.steps), "--jobs", str(args.jobs)]
    command = [sys.executable, str(Path(__file__).resolve()), *told, *(["--dry-run"] if args.dry_run else [])]
    with stem.with_suffix(".txt").open("w") as log:
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        return subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=environment), out


def finish(record, name, child, out):
    """Takes over what a run has written, or shows the end of its log."""
    if child.poll() is None:
        child.terminate()
        try:
            child.wait(15)
        except subprocess.TimeoutExpired:
            child.kill()
    if out.exists():
        record.arm(name, lambda: json.loads(out.read_text()))
    else:
        print("LEFT OUT", name, out.with_suffix(".txt").read_text()[-1500:], flush=True)


def verdict(arms):
    """The mean CER of each arm, and what the numbers say of each prediction."""
    from trimtab.lab.experiment import Prediction
    from trimtab.lab.statistics import holm, paired
    from trimtab.lab.verdict import Comparison

    def mean(name, test):
        there = [arms[key_of(name, seed)] for seed in SEEDS if key_of(name, seed) in arms]
        return round(statistics.fmean(each[test]["cer"] for each in there), 3)

    names = list(dict.fromkeys(name.rsplit(", seed ", 1)[0] for name in arms))
    means = {name: {test: mean(name, test) for test in SETS} for name in names}
    found = []
    for arm, than, test, expect, margin, because in PREDICTIONS:
        seeds = [seed for seed in SEEDS if key_of(arm, seed) in arms and key_of(than, seed) in arms]
        if len(seeds) < 2:
            continue
        gains = [
            arms[key_of(than, seed)][test]["cer"] - arms[key_of(arm, seed)][test]["cer"] for seed in seeds
        ]
        told = Prediction(arm=arm, than=than, expect=expect, margin=margin, because=because)
        found.append((test, Comparison(told, tuple(seeds), tuple(gains), paired(gains))))
    corrected = holm([each.result.p for _, each in found])
    judged = [
        {
            "arm": each.prediction.arm, "than": each.prediction.than, "set": test,
            "expect": each.prediction.expect, "margin": each.prediction.margin,
            "fewer_errors_by_seed": [round(gain, 3) for gain in each.differences],
            "mean": round(each.result.mean, 3), "interval": [round(each.result.low, 3), round(each.result.high, 3)],
            "p": round(p, 4), "outcome": each.outcome(p=p),
        }
        for (test, each), p in zip(found, corrected, strict=True)
    ]  # fmt: skip
    return {"mean_cer": means, "predictions": judged}


if __name__ == "__main__":
    main()
