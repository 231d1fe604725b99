"""English to German with SuperBPE and with unigram pieces: chrF after 90 s on a GPU, and how fast each translates.

    python benchmarks/superbpe_translation.py pack PACK.tar --corpora DIR
    python benchmarks/superbpe_translation.py run --data PACK.tar --out FILE.json [--seconds 90] [--minutes 9.4]
    python benchmarks/superbpe_translation.py run --data PACK.tar --out /tmp/try.json --dry-run           on a CPU

`pack` trains both vocabularies, of 16,000 pieces on the training text of both sides, and puts them into one file with
DIR/en-de/{prose,ui}. `run` needs that file alone. Each run trains `recipes/en_de.yaml` for `--seconds` of its own
clock, which evaluations stop. Before the first run of the process a short one of each kind compiles the kernels, and
the checks before the first step are left out, so that both kinds train for all of their seconds. Then it translates all
lines of the dev prose and strings, beam 4 and greedy, in the same process: once to warm up, then three times by the
clock. The seconds of a translation are their median.

`run` writes its file after every run; after `--minutes` it begins no further run, and the same command continues
from the file. Losses per token of different vocabularies do not compare, chrF and the clock do.

Prediction, written before the first run: chrF of the dev prose at least that of unigram in the mean over three seeds,
and at least 15% more lines a second.
"""

import argparse
import gc
import json
import lzma
import math
import statistics
import sys
import tarfile
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "src"))

import torch  # noqa: E402
from plain_progress import PlainProgress  # noqa: E402
from record import Record  # noqa: E402
from timed_run import RECIPE, unchecked  # noqa: E402

from trimtab.checkpoint.journal import read_journal  # noqa: E402
from trimtab.checkpoint.run_folder import RunFolder  # noqa: E402
from trimtab.config.load import load_recipe  # noqa: E402
from trimtab.config.tokenizer import SentencePieceTokenizer, SuperBpeTokenizer  # noqa: E402
from trimtab.data.byte_level_tokenizer import Symbols, make_byte_level  # noqa: E402
from trimtab.data.tokenizer import train_tokenizer  # noqa: E402
from trimtab.decode.search import Search  # noqa: E402
from trimtab.inference import load_model  # noqa: E402
from trimtab.launch import train  # noqa: E402
from trimtab.metrics.bleu import bleu  # noqa: E402
from trimtab.metrics.chrf import chrf  # noqa: E402

KINDS = {
    "unigram": "{kind: sentencepiece, path: PLACE}",
    "superbpe": "{kind: superbpe, path: PLACE}",
}
TEXTS = ("prose", "ui")
BEAMS = (4, 1)
TIMES = 3
SHORT = ("step.schedule.warmup=5 steps",)
"""Of the runs that only compile."""
AROUND_TRAINING_S = 12.0
"""Of a run, for opening its data, its last checkpoint and its translations."""
STUDENT_T = {2: 12.71, 3: 4.30, 4: 3.18, 5: 2.78}
"""Of a 95% interval, by the number of seeds."""


def main():
    args = arguments()
    {"pack": pack, "run": run}[args.what](args)


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="what", required=True)
    packing = commands.add_parser("pack")
    packing.add_argument("out", type=Path)
    packing.add_argument("--corpora", type=Path, required=True)
    packing.add_argument("--size", type=int, default=16000)
    packing.add_argument("--lines", type=int, help="of each training file at most")
    running = commands.add_parser("run")
    running.add_argument("--data", type=Path, required=True)
    running.add_argument("--out", type=Path, required=True)
    running.add_argument("--seconds", type=float, default=90.0)
    running.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    running.add_argument("--minutes", type=float, default=math.inf)
    running.add_argument("--dry-run", action="store_true")
    running.add_argument("overrides", nargs="*")
    return parser.parse_args()


def pack(args):
    with tempfile.TemporaryDirectory() as folder:
        for kind in KINDS:
            begun = time.perf_counter()
            make_vocabulary(kind, args, Path(folder) / kind)
            print(f"{kind}: {time.perf_counter() - begun:.1f} s", flush=True)
        with tarfile.open(args.out, "w") as tar:
            for kind in KINDS:
                tar.add(Path(folder) / kind, f"tokenizers/{kind}")
            for text in TEXTS:
                for name in (
                    f"{text}/{part}.{side}.xz" for part in ("train", "dev") for side in ("en", "de")
                ):
                    tar.add(args.corpora / "en-de" / name, name)
    print(f"{args.out}, {args.out.stat().st_size / 1e6:.1f} MB")


def make_vocabulary(kind, args, out):
    """Trains it on the training text, as `trimtab tokenizer train` does."""
    files = [args.corpora / "en-de" / text / f"train.{side}.xz" for text in TEXTS for side in ("en", "de")]

    def lines():
        return (line for file in files for line in texts(file)[: args.lines])

    if kind == "unigram":
        train_tokenizer(SentencePieceTokenizer(vocabulary_size=args.size), lines=lines(), symbols=(), out=out)
    else:
        config = SuperBpeTokenizer(vocabulary_size=args.size)
        make_byte_level(
            config, lines, symbols=Symbols(), out=out, key="data.tokenizer", progress=PlainProgress()
        )


def texts(path):
    with lzma.open(path, "rt", encoding="utf-8", newline="\n") as file:
        return file.read().split("\n")[:-1]


def run(args):
    begun = time.perf_counter()
    seconds, steps = (4.0, 6) if args.dry_run else (args.seconds, 24)
    seeds = args.seeds[:1] if args.dry_run else args.seeds
    units = [(seed, kind) for seed in seeds for kind in KINDS]
    record = resumed(args.out, f"chrF after {seconds:g} s of training, and lines a second, by vocabulary")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        with tarfile.open(args.data) as tar:
            tar.extractall(place / "data", filter="data")
        left = [(seed, kind) for seed, kind in units if name_of(kind, seed) not in record.arms]
        for kind in dict.fromkeys(kind for _, kind in left):
            trained(kind, place, f"warm-{kind}", args, seed=0, length=f"{steps} steps", more=SHORT)
        for seed, kind in left:
            passed = time.perf_counter() - begun
            if passed + seconds + AROUND_TRAINING_S > 60 * args.minutes:
                break
            record.arm(
                name_of(kind, seed),
                lambda seed=seed, kind=kind: measured(kind, place, args, seed=seed, seconds=seconds),
            )
            summarize(record, seeds)
    summarize(record, seeds)
    print(json.dumps(record.result.get("superbpe against unigram"), indent=1))
    missing = [name_of(kind, seed) for seed, kind in units if name_of(kind, seed) not in record.arms]
    print(f"left for the next call: {', '.join(missing) or 'none'}", flush=True)


def name_of(kind, seed):
    return f"{kind}, seed {seed}"


def resumed(out, question):
    """A record with the runs that its file has already."""
    record = Record(out, question=question)
    if Path(out).exists():
        record.result["arms"] = json.loads(Path(out).read_text(encoding="utf-8"))["arms"]
    return record


def trained(kind, place, name, args, *, seed, length, more=()):
    """The folder of a run."""
    overrides = [
        f"data.root={place / 'data'}",
        f"data.tokenizer={KINDS[kind].replace('PLACE', str(place / 'data/tokenizers' / kind))}",
        f"length={length}",
        f"seed={seed}",
        "step.compile=on",
        "evaluate={every: 1000000 steps, metrics: [], best: {metric: loss}, samples: 0}",
        "checkpoint={every: 1000000 steps, keep: 1}",
        *more,
        *args.overrides,
    ]
    if args.dry_run:
        overrides += ["model.preset=tiny", "step.compile=off"]
        overrides += ["step.tokens_per_step=1024", "step.tokens_per_micro_batch=1024"]
    with unchecked():
        train(load_recipe(RECIPE, overrides), out=place / name, progress=PlainProgress())
    return RunFolder(place / name)


def measured(kind, place, args, *, seed, seconds):
    """A run by the clock, then its translations."""
    folder = trained(kind, place, f"{kind}-{seed}", args, seed=seed, length=f"{seconds / 60} minutes")
    steps = [*read_journal(folder.metrics)]
    found = {
        "steps": steps[-1]["step"],
        "seconds": steps[-1]["seconds"],
        "epochs": steps[-1]["epoch"],
        "tokens": sum(line["tokens"] for line in steps),
        "target_tokens": sum(line["target_tokens"] for line in steps),
    }
    model = load_model(f"{folder.path}@last")
    for text in TEXTS:
        source, reference = (
            texts(place / "data" / text / f"dev.{side}.xz")[: 8 if args.dry_run else None]
            for side in ("en", "de")
        )
        found[text] = {"lines": len(source)} | {
            f"beam {beam}": translated(model, source, reference, beam) for beam in BEAMS
        }
    del model
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    return found


def translated(model, source, reference, beam):
    translator = model.translator(search=Search(beam=beam))
    took = []
    for _ in range(1 + TIMES):
        begun = time.perf_counter()
        outputs = translator.translate(source)
        took.append(time.perf_counter() - begun)
    return {
        "chrf": round(chrf(outputs, reference).value, 3),
        "bleu": round(bleu(outputs, reference).value, 3),
        "lines_per_second": round(len(source) / statistics.median(took[1:]), 1),
        "seconds": [round(each, 4) for each in took],
        "tokens": sum(map(len, model.tokenizers.target.encode(outputs))),
    }


def summarize(record, seeds):
    """Over the seeds of which both kinds are there: the gain in chrF with its interval, and the ratio of the speeds."""
    pairs = [
        [record.arms[name_of(kind, seed)] for kind in ("superbpe", "unigram")]
        for seed in seeds
        if all(name_of(kind, seed) in record.arms for kind in KINDS)
    ]
    found = {"seeds": len(pairs)}
    for text in TEXTS if pairs else ():
        for beam in BEAMS:
            both = [[each[text][f"beam {beam}"] for each in pair] for pair in pairs]
            gains = [one["chrf"] - other["chrf"] for one, other in both]
            ratios = [one["lines_per_second"] / other["lines_per_second"] for one, other in both]
            found[f"{text}, beam {beam}"] = {
                "chrf": [round(statistics.mean(pair[each]["chrf"] for pair in both), 3) for each in (0, 1)],
                "more_chrf": round(statistics.mean(gains), 3),
                "interval": interval(gains),
                "times_as_many_lines_per_second": [round(each, 3) for each in ratios],
                "fewer_tokens": round(
                    1 - sum(one["tokens"] for one, _ in both) / sum(other["tokens"] for _, other in both), 4
                ),
            }
    record.result["superbpe against unigram"] = found
    record.write()


def interval(values):
    """Of the mean, 95% by Student's t; None for one value."""
    if len(values) < 2:
        return None
    half = STUDENT_T.get(len(values), 2.0) * statistics.stdev(values) / math.sqrt(len(values))
    return [round(statistics.mean(values) - half, 3), round(statistics.mean(values) + half, 3)]


if __name__ == "__main__":
    main()
