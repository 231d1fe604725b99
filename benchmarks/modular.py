"""A modular model against one model with tags, trained for equal minutes: chrF and off-target rate by direction.

    python benchmarks/modular.py pack PACK.tar --corpora DIR
    python benchmarks/modular.py calibrate --data PACK.tar --out FILE.json
    python benchmarks/modular.py run --data PACK.tar --out FILE.json [--work DIR] [--minutes 9.4] [--gpus 0,1]
    python benchmarks/modular.py score FILE.json --data PACK.tar

Two recipes, `multilingual.yaml` and `multilingual_modular.yaml`, on en ↔ {de, ja, zh, pt}. Vocabulary, data, order
(`data.seed`), tokens a step and minutes are the same. `pack` trains the vocabulary of 32,000 pieces and puts it with
DIR/en-{de,ja,zh,pt}/{prose,ui}/{train,dev}.*.xz into one file, which is all that the others need.

A unit is one run of an arm with a seed: `--train-minutes` of its own clock, then the dev prose of all directions by
beam 4. Compiling (in a short run before), evaluation and saving stop that clock. Each unit has a process and a GPU of
its own. `run` writes FILE.json, and the translations beside it, after each unit. After `--minutes` it stops: units that
are training save, and the next `run` continues them if `--work` still exists; finished ones are not repeated.

The modular model has layers of each target language and leaves a quarter of the slots of a step empty;
`--tagged-layers`, the depth of the tagged decoder, makes the steps of both take as long. By the floating-point
operations of all slots the modular one, 6 + 4 layers, takes as long as 6 + 8 tagged layers. FILE.json has the time of a
step of each run. `calibrate` measures it alone, for which there is no need where GPUs are not shared.

On one card several units may run side by side (`--jobs`) only with lengths in steps, so that neighbors change no
result: `run --calibration FILE.json` trains for the steps that fit into the minutes.

Prediction, written before the first run: the modular model is better by 0.2 to 0.8 chrF in the mean over directions,
with an interval over three seeds above 0, and writes no more lines in a wrong language. The aim, +1, is unlikely: after
eight minutes, about ten epochs, the tagged model should be within 1 chrF of what a model of one pair reaches when it
has converged (65.2 for en-de, benchmarks/en_de_quality.json).

To try it on a CPU: `pack --lines 300 --size 2000`, then `run --dry-run`.
"""

import argparse
import json
import lzma
import math
import os
import signal
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

from modular_scores import (
    ARMS,
    DIRECTIONS,
    OTHERS,
    about,
    dev_file,
    kept_translations,
    place_of,
    result,
    scores,
    texts,
    write,
)

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "src"))

KINDS = ("prose", "ui")
TAGS = [f"<2{language}>" for language in ("en", *OTHERS)]
LEAST_LEFT_S = 60.0
"""With less time left no unit begins."""
SCORING_S = 40.0
"""With less time left, scoring is left to the next `run`, or to `score`."""
TO_STOP_S = 30.0
"""For a step and a checkpoint, before the time is over."""
TO_END_S = 5.0
"""What is left when a unit that translates is stopped; the next `run` translates again."""
WARM_STEPS = 12


def main():
    args = arguments()
    work = {"pack": pack, "calibrate": calibrate, "run": run, "score": score, "unit": unit, "clock": clock}
    work[args.what](args)


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="what", required=True)
    packing = commands.add_parser("pack")
    packing.add_argument("out", type=Path)
    packing.add_argument("--corpora", type=Path, required=True)
    packing.add_argument("--size", type=int, default=32000)
    packing.add_argument("--lines", type=int, help="of each file at most")
    packing.add_argument("--training-lines", type=int, default=200_000, help="of the vocabulary")
    scoring = commands.add_parser("score")
    scoring.add_argument("out", type=Path)
    scoring.add_argument("--data", type=Path, required=True)
    for name in ("calibrate", "run", "unit", "clock"):
        each = commands.add_parser(name)
        each.add_argument("--data", type=Path, required=True, help="of unit and clock, the unpacked folder")
        each.add_argument("--out", type=Path, required=True)
        each.add_argument("--work", type=Path, default=Path("/tmp/modular"))
        each.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
        each.add_argument("--arms", nargs="+", choices=ARMS, default=list(ARMS))
        each.add_argument("--train-minutes", type=float, default=8.0)
        each.add_argument("--minutes", type=float, default=math.inf)
        each.add_argument("--gpus", default="0")
        each.add_argument("--jobs", type=int, default=1, help="units on each GPU")
        each.add_argument("--calibration", type=Path)
        each.add_argument("--seconds", type=float, default=30.0, help="of a calibration, for each arm")
        each.add_argument("--lines", type=int, help="of each development set at most")
        each.add_argument("--tokens-per-step", type=int, default=32768)
        each.add_argument("--tagged-layers", type=int, default=8, help="of the tagged decoder")
        each.add_argument("--dry-run", action="store_true")
    args = parser.parse_args()
    if getattr(args, "jobs", 1) > 1 and args.calibration is None:
        parser.error("--jobs above 1 needs --calibration: minutes of a shared GPU are not minutes of one")
    return args


def pack(args):
    from trimtab.config.tokenizer import SentencePieceTokenizer
    from trimtab.data.tokenizer import train_tokenizer

    with tempfile.TemporaryDirectory() as folder:
        place, begun = Path(folder), time.perf_counter()
        names = [
            f"en-{other}/{kind}/{part}.{side}.xz"
            for other in OTHERS
            for kind in KINDS
            for part in ("train", "dev")
            for side in ("en", other)
        ]
        training = [name for name in names if "/train." in name]
        total = sum(len(texts(args.corpora / name, args.lines)) for name in training)
        stride = max(1, total // args.training_lines)
        lines = (line for name in training for line in texts(args.corpora / name, args.lines)[::stride])
        config = SentencePieceTokenizer(vocabulary_size=args.size)
        train_tokenizer(config, lines=lines, symbols=TAGS, out=place / "tokenizer")
        print(f"a vocabulary of {args.size} pieces: {time.perf_counter() - begun:.1f} s", flush=True)
        with tarfile.open(args.out, "w") as tar:
            tar.add(place / "tokenizer", "tokenizer")
            for name in names:
                file = args.corpora / name
                if args.lines:
                    file = place / "cut.xz"
                    lines = texts(args.corpora / name, args.lines)
                    file.write_bytes(lzma.compress("".join(f"{line}\n" for line in lines).encode()))
                tar.add(file, name)
    print(f"{args.out}, {args.out.stat().st_size / 1e6:.1f} MB")


def unpacked(args):
    """The folder of the pack, unpacked once."""
    place = args.work / "data"
    if not place.is_dir():
        args.work.mkdir(parents=True, exist_ok=True)
        new = args.work / "data.new"
        with tarfile.open(args.data) as tar:
            tar.extractall(new, filter="data")
        new.rename(place)
    return place


def calibrate(args):
    """A step of each arm, alone on the first GPU."""
    data, found = unpacked(args), {}
    for arm in args.arms:
        subprocess.run(
            child("clock", arm, 0, args, data, args.work / f"clock-{arm}.json"),
            env=on_gpu(args, 0),
            check=True,
        )
        found[arm] = json.loads((args.work / f"clock-{arm}.json").read_text(encoding="utf-8"))
        steps = int(60_000 * args.train_minutes / found[arm]["step_ms"])
        found[arm][f"steps in {args.train_minutes:g} minutes"] = steps
        print(arm, found[arm], flush=True)
    args.out.write_text(json.dumps({**about(), "arms": found}, indent=1) + "\n", encoding="utf-8")


def run(args):
    """All units that are not there yet, as far as the minutes reach."""
    begun, data = time.perf_counter(), unpacked(args)
    runs = json.loads(args.out.read_text(encoding="utf-8"))["runs"] if args.out.exists() else []
    seeds = args.seeds[:1] if args.dry_run else args.seeds
    made = {(each["arm"], each["seed"]) for each in runs}
    waiting = [(arm, seed) for seed in seeds for arm in args.arms if (arm, seed) not in made]
    free = [gpu for gpu in args.gpus.split(",") for _ in range(args.jobs)]
    working = {}

    def left():
        return 60 * args.minutes - (time.perf_counter() - begun)

    while waiting or working:
        while waiting and free and left() > LEAST_LEFT_S:
            arm, seed = waiting.pop(0)
            gpu, told = free.pop(0), args.work / f"{arm}-{seed}.json"
            told.unlink(missing_ok=True)
            command = child("unit", arm, seed, args, data, told)
            working[arm, seed] = gpu, told, subprocess.Popen(command, env=on_gpu(args, gpu))
        if left() < TO_STOP_S:
            waiting.clear()
        for (arm, seed), (_, _, process) in working.items():
            trained_whole = (args.work / f"{arm}-{seed}" / "done").exists()
            if left() < (TO_END_S if trained_whole else TO_STOP_S):
                process.send_signal(signal.SIGTERM)
                process.wait()
        time.sleep(0.5)
        for (arm, seed), (gpu, told, process) in list(working.items()):
            if process.poll() is None:
                continue
            del working[arm, seed]
            free.append(gpu)
            if told.exists():
                runs.append({"arm": arm, "seed": seed, **finished(arm, seed, told, args)})
                write(runs, args.out)
            else:
                print(f"{arm}, seed {seed}: ended with {process.returncode}, unfinished", flush=True)
        if working and not (waiting and free):
            score_one(runs, args.out, data, left=left())
        if not working and left() < LEAST_LEFT_S:
            break
    while score_one(runs, args.out, data, left=left()):
        pass
    if runs:
        print(json.dumps(result(runs)["means"], indent=1))
    made = {(each["arm"], each["seed"]) for each in runs}
    more = [f"{arm}, seed {seed}" for seed in seeds for arm in args.arms if (arm, seed) not in made]
    print(f"left for the next call: {'; '.join(more) or 'none'}", flush=True)


def score_one(runs, out, data, *, left):
    """Scores a run that has no scores yet, and says whether there was one and enough time."""
    each = next((each for each in runs if "scores" not in each), None)
    if each is None or left < SCORING_S:
        return False
    each["scores"] = scores(kept_translations(each, out), data)
    write(runs, out)
    return True


def finished(arm, seed, told, args):
    """What a unit measured; its translations are kept beside the result."""
    found = json.loads(told.read_text(encoding="utf-8"))
    outputs = found.pop("translations")
    place_of(arm, seed, args.out).write_bytes(lzma.compress(json.dumps(outputs, ensure_ascii=False).encode()))
    print(arm, seed, json.dumps(found), flush=True)
    return found


def score(args):
    """Scores what `run` has kept, again where the languages of translations could not be told apart."""
    written = json.loads(args.out.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(args.data) as tar:
            tar.extractall(folder, filter="data")
        for each in written["runs"]:
            each["scores"] = scores(kept_translations(each, args.out), Path(folder))
    write(written["runs"], args.out)
    print(json.dumps(result(written["runs"])["means"], indent=1))


def child(what, arm, seed, args, data, told):
    command = [
        sys.executable,
        __file__,
        what,
        "--data",
        data,
        "--out",
        told,
        "--work",
        args.work,
        "--arms",
        arm,
    ]
    command += ["--seeds", seed, "--train-minutes", args.train_minutes, "--seconds", args.seconds]
    command += ["--tokens-per-step", args.tokens_per_step, "--tagged-layers", args.tagged_layers]
    command += ["--lines", args.lines] if args.lines else []
    command += ["--calibration", args.calibration] if args.calibration else []
    command += ["--dry-run"] if args.dry_run else []
    return [str(each) for each in command]


def on_gpu(args, gpu):
    return os.environ | ({} if args.dry_run else {"CUDA_VISIBLE_DEVICES": str(gpu)})


def unit(args):
    """One run, and its translations."""
    from trimtab.checkpoint.journal import read_journal

    (arm,), (seed,) = args.arms, args.seeds
    length = f"{0.05 if args.dry_run else args.train_minutes} minutes"
    if args.calibration is not None:
        told = json.loads(args.calibration.read_text(encoding="utf-8"))
        length = f"{told['arms'][arm][f'steps in {args.train_minutes:g} minutes']} steps"
    folder = args.work / f"{arm}-{seed}"
    if not (folder / "done").exists():
        warm_up(arm, args)
        trained(arm, folder, args, seed=seed, length=length)
        (folder / "done").touch()
    lines = [*read_journal(folder / "metrics.jsonl")]
    found = {"length": length, "steps": lines[-1]["step"], "seconds": lines[-1]["seconds"], **timing(lines)}
    found["parameters"], found["translations"] = translated(arm, folder, args)
    new = args.out.with_suffix(".new")
    new.write_text(json.dumps(found, ensure_ascii=False), encoding="utf-8")
    new.rename(args.out)


def clock(args):
    """The time of a step."""
    from trimtab.checkpoint.journal import read_journal

    (arm,) = args.arms
    warm_up(arm, args)
    with tempfile.TemporaryDirectory() as folder:
        minutes = (6.0 if args.dry_run else args.seconds) / 60
        place = Path(folder) / "run"
        trained(arm, place, args, seed=1, length=f"{minutes} minutes", more=["checkpoint.write=false"])
        found = timing([*read_journal(place / "metrics.jsonl")])
    args.out.write_text(json.dumps(found), encoding="utf-8")


def timing(lines):
    """Of the second half of a run."""
    half = lines[len(lines) // 2 :]
    passed = half[-1]["seconds"] - half[0]["seconds"]
    return {
        "step_ms": round(1000 * passed / max(1, half[-1]["step"] - half[0]["step"]), 3),
        "tokens_per_second": round(sum(line["tokens"] for line in half[1:]) / passed) if passed else None,
        "fill": round(statistics.mean(line["fill"] for line in half), 4),
        "micro_batches": round(statistics.mean(line["micro_batches"] for line in half), 3),
        "skipped": sum(line["skipped"] for line in lines),
    }


def warm_up(arm, args):
    """Compiles what the steps need."""
    with tempfile.TemporaryDirectory() as folder:
        more = ["checkpoint.write=false", "step.schedule.warmup=2 steps"]
        trained(arm, Path(folder) / "run", args, seed=0, length=f"{WARM_STEPS} steps", more=more)


def trained(arm, folder, args, *, seed, length, more=()):
    from plain_progress import PlainProgress
    from timed_run import unchecked

    from trimtab.config.load import load_recipe
    from trimtab.launch import train

    size = 1024 if args.dry_run else args.tokens_per_step
    overrides = [
        f"data.root={args.data.absolute()}",
        f"data.tokenizer={{kind: sentencepiece, path: {args.data.absolute() / 'tokenizer'}}}",
        f"length={length}",
        f"step.tokens_per_step={size}",
        f"step.tokens_per_micro_batch={size}",
        f"step.compile={'off' if args.dry_run else 'on'}",
        f"seed={seed}",
        "data.seed=1",
        "evaluate={every: 1000000 steps, metrics: [], best: {metric: loss}, samples: 0}",
        "checkpoint={every: 1000000 steps, keep: 1}",
    ]
    if arm == "tagged":
        overrides.append(f"model.decoder_layers={args.tagged_layers}")
    if args.dry_run:
        overrides += [
            "model.dim=32",
            "model.heads=2",
            "model.feed_forward=64",
            "step.schedule.warmup=2 steps",
        ]
    loaded = load_recipe(ROOT / "recipes" / ARMS[arm], [*overrides, *more])
    with unchecked():
        train(loaded, out=folder, progress=PlainProgress(), resume="auto")


def translated(arm, folder, args):
    """The number of parameters, and the translations of each direction."""
    from trimtab.decode.search import Search
    from trimtab.device import choose_device
    from trimtab.inference import load_model
    from trimtab.inference.load import direction_of, load_modular

    outputs, device = {}, choose_device(None)
    whole = load_modular(f"{folder}@last", device="cpu") if arm == "modular" else None
    plain = None if whole else load_model(f"{folder}@last")
    for one, other in DIRECTIONS:
        sources = texts(dev_file(args.data, one, other, one), 4 if args.dry_run else args.lines)
        tags = () if plain is None else (f"<2{other}>",)
        model = plain or direction_of(whole, f"{one}-{other}", device=device)
        outputs[f"{one}-{other}"] = model.translator(search=Search(beam=4), tags=tags).translate(sources)
    return (whole or plain).model.num_parameters(), outputs


if __name__ == "__main__":
    main()
