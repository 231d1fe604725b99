"""Does averaging the weights help? One run a seed, and of each: its last weights, its best checkpoint, the mean of its
last five checkpoints, and the moving average it kept; loss of the dev lines, BLEU and chrF of their translations.

    python benchmarks/averaging.py --data DIR --out FILE [--seeds 1 2 3] [--seconds 60 | --steps 2000 [--side-by-side]]
        [--lines N] [--keep FOLDER] [KEY=VALUE ...]

With --steps the length is told in steps, and --side-by-side trains all seeds at once on one card, since quality is
asked and not speed. --keep is where the run of the first seed (`run`) and its last five (`last`) stay.

DIR holds prose/{train,dev}.{en,de}.xz, ui/... and perhaps tok/, a vocabulary. The single best is chosen by the loss on
the lines that are then translated, so that it is rather too good. A pair of arms of one seed is one run's weights.
"""

import argparse
import json
import lzma
import statistics
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path

import torch
from plain_progress import PlainProgress
from record import Record
from side_by_side import add_options, do_arms
from timed_run import RECIPE, data_in, unchecked

from trimtab.averaging.average import average
from trimtab.checkpoint.resolve import resolve_checkpoint
from trimtab.checkpoint.run_folder import RunFolder
from trimtab.checkpoint.step_folders import list_steps
from trimtab.config.load import load_recipe
from trimtab.decode.search import Search
from trimtab.evaluation.translations import reference_loss
from trimtab.inference import load_model
from trimtab.launch import train
from trimtab.metrics.bleu import bleu
from trimtab.metrics.chrf import chrf

BEAM, LAST = 4, 5
SINGLE_BEST = "single best"


def main():
    args = arguments()
    record = Record(
        args.out,
        question="last five, moving average and single best: loss, BLEU and chrF",
        **({"training_steps": args.steps} if args.steps else {"training_seconds": args.seconds}),
        checkpoints=args.checkpoints,
        evaluations=args.evaluations,
        decay=args.decay,
        beam=BEAM,
        set=args.set,
        overrides=args.overrides,
    )

    def conclude():
        record.result["spread"] = spread(record.arms.values())

    works = {f"seed {seed}": lambda seed=seed: one_seed(args, seed) for seed in args.seeds}
    do_arms(args, record, works, conclude=conclude)
    print(json.dumps(record.result["spread"], indent=1))


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--seconds", type=float, default=60.0)
    length.add_argument("--steps", type=int, help="rounded down to whole ones between checkpoints")
    parser.add_argument(
        "--warmup", type=int, help="steps; by default 5 for each second, or 15%% of the steps"
    )
    parser.add_argument("--decay", type=float, default=0.9999)
    parser.add_argument("--checkpoints", type=int, default=16, help="how many a run takes, evenly spread")
    parser.add_argument("--evaluations", type=int, default=8, help="of which the single best is the best")
    parser.add_argument("--set", default="prose", help="the validation set that is scored")
    parser.add_argument("--lines", type=int, help="translate only so many of its first lines")
    parser.add_argument("--keep", type=Path, help="folder for the run of the first seed and its average")
    add_options(parser)
    parser.add_argument("overrides", nargs="*")
    args = parser.parse_args()
    if args.side_by_side and not args.steps:
        parser.error("--side-by-side: seeds that share a card are as long as --steps says")
    if args.steps and args.steps < args.checkpoints:
        parser.error(f"--steps: at least {args.checkpoints}, one for each checkpoint")
    if args.steps:
        args.steps -= args.steps % args.checkpoints
    return args


def one_seed(args, seed):
    """Trains once, and scores what can be made of its checkpoints."""
    kept = args.keep if seed == args.seeds[0] else None
    with nullcontext(kept) if kept else tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        loaded = load_recipe(RECIPE, overrides(args, seed))
        begun = time.perf_counter()
        with unchecked():
            result = train(loaded, out=folder / "run", progress=PlainProgress())
        wall, state = time.perf_counter() - begun, result.state
        with tempfile.TemporaryDirectory() as others:
            made = weights_of(folder, Path(others))
            valid = loaded.recipe.data.valid[args.set]
            sides = [read(Path(args.data) / side)[: args.lines] for side in (valid.source, valid.target)]
            scores = {
                name: scored(spec, *sides, tags=valid.tags) | more for name, (spec, more) in made.items()
            }
        if args.side_by_side:
            for each in scores.values():
                del each["seconds"]
        seconds = {
            "training_seconds": round(state.seconds, 1),
            "wall_seconds_of_training": round(wall, 1),
        }
        return {
            "steps": state.step,
            "tokens": state.tokens,
            **({} if args.side_by_side else seconds),
            "findings": [finding.code for finding in result.findings],
            "scores": scores,
        }


def overrides(args, seed):
    """The recipe's changes: the length, checkpoints that are dense enough for a last five, and a cheap evaluation."""
    length, saved, scored = lengths(args)
    warmup = args.warmup or max(20, round(0.15 * args.steps if args.steps else 5 * args.seconds))
    return [
        *data_in(args.data),
        f"seed={seed}",
        f"length={length}",
        f"step.schedule.warmup={warmup} steps",
        f"step.ema={{decay: {args.decay}}}",
        f"evaluate={{every: {scored}, metrics: [loss], best: {{set: {args.set}, metric: loss}}}}",
        f"checkpoint={{every: {saved}, keep: {LAST}}}",
        *args.overrides,
    ]


def lengths(args):
    """Of the run, from one checkpoint to the next, and from one evaluation to the next; the last of both is the end."""
    if args.steps is None:
        parts = (1, args.checkpoints, args.evaluations)
        return [f"{args.seconds / 60 / count:.6f} minutes" for count in parts]
    saved, scored = (max(1, args.steps // count) for count in (args.checkpoints, args.evaluations))
    return [f"{count} steps" for count in (args.steps, saved, scored)]


def weights_of(folder, others):
    """What is scored: a name for `load_model`, and what is to be said of it."""
    run = folder / "run"
    steps = list_steps(RunFolder(run).checkpoints)
    best = resolve_checkpoint(str(run)).step
    means = {
        f"last {LAST}": average([str(run)], last=LAST, out=folder / "last", metric="loss"),
        "moving average": average([f"{run}@last"], ema=True, out=others / "ema", metric="loss"),
    }
    return {
        "last": (f"{run}@last:raw", {"steps": steps[-1:]}),
        SINGLE_BEST: (f"{run}@{best}:raw", {"steps": [best]}),
        f"last {LAST}": (str(folder / "last"), losses(means[f"last {LAST}"], steps=steps[-LAST:])),
        "moving average": (str(others / "ema"), losses(means["moving average"], steps=steps[-1:])),
    }


def losses(report, *, steps):
    """What `trimtab average` itself measured, by step and not by the folder of this run."""
    found = {label.rpartition("@")[2]: score for label, score in report.comparison.scores.items()}
    return {"steps": steps, "losses_by_average": found, "gain_by_average": report.comparison.gain}


def scored(spec, sources, references, *, tags):
    """Loss, BLEU and chrF of one set of weights."""
    model = load_model(spec)
    begun = time.perf_counter()
    outputs = model.translator(search=Search(beam=BEAM), tags=tags).translate(sources)
    took = time.perf_counter() - begun
    with torch.inference_mode():
        loss = reference_loss(model, sources, references, tags=tags)
    found = (bleu(outputs, references), chrf(outputs, references))
    signatures = {f"{score.name.lower()}_signature": score.signature for score in found}
    values = {score.name.lower(): score.value for score in found}
    return {"loss": loss, **values, **signatures, "lines": len(sources), "seconds": round(took, 2)}


def spread(arms):
    """Of each kind of weights: mean, lowest, highest and standard deviation over the seeds; and its difference from
    the single best of the same run."""
    arms = list(arms)
    told = {}
    for kind in arms[0]["scores"] if arms else ():
        told[kind] = {}
        for measure in ("loss", "bleu", "chrf"):
            values = [arm["scores"][kind][measure] for arm in arms]
            singles = [arm["scores"][SINGLE_BEST][measure] for arm in arms]
            gains = [value - single for value, single in zip(values, singles, strict=True)]
            told[kind][measure] = of_all(values) | {"against single best": of_all(gains)}
    return told


def of_all(values):
    deviation = statistics.stdev(values) if len(values) > 1 else None
    return {
        "mean": statistics.mean(values),
        "min": min(values),
        "max": max(values),
        "sd": deviation,
        "each": values,
    }


def read(path):
    return lzma.open(path, "rt", encoding="utf-8", newline="\n").read().split("\n")[:-1]


if __name__ == "__main__":
    main()
