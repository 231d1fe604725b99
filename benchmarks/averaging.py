"""Does averaging the weights help? One run a seed, and of each: its last weights, its best checkpoint, the mean of its
last five checkpoints, and the moving average it kept; loss of the dev lines, BLEU and chrF of their translations.

    python benchmarks/averaging.py --data DIR --out FILE [--seeds 1 2 3] [--seconds 60] [--lines N] [KEY=VALUE ...]

DIR holds prose/{train,dev}.{en,de}.xz, ui/... and perhaps tok/, a vocabulary. The single best is chosen by the loss on
the lines that are then translated, so that it is rather too good. A pair of arms of one seed is one run's weights.
"""

import argparse
import gc
import json
import lzma
import statistics
import tempfile
import time
from pathlib import Path

import torch
from plain_progress import PlainProgress
from record import Record
from timed_run import RECIPE, data_in

from trimtab.averaging.average import average
from trimtab.checkpoint.resolve import resolve_checkpoint
from trimtab.checkpoint.run_folder import RunFolder
from trimtab.checkpoint.step_folders import list_steps
from trimtab.config.load import load_recipe
from trimtab.decode.search import Search
from trimtab.evaluation import reference_loss
from trimtab.launch import train
from trimtab.scoring.scores import bleu, chrf
from trimtab.translator import load_model

BEAM, LAST = 4, 5
SINGLE_BEST = "single best"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--warmup", type=int, help="steps; by default 5 for each second of training")
    parser.add_argument("--decay", type=float, default=0.9999)
    parser.add_argument("--checkpoints", type=int, default=16, help="how many a run takes, evenly spread")
    parser.add_argument("--evaluations", type=int, default=8, help="of which the single best is the best")
    parser.add_argument("--set", default="prose", help="the validation set that is scored")
    parser.add_argument("--lines", type=int, help="translate only so many of its first lines")
    parser.add_argument("overrides", nargs="*")
    args = parser.parse_args()
    record = Record(
        args.out,
        question="last five, moving average and single best: loss, BLEU and chrF",
        training_seconds=args.seconds,
        checkpoints=args.checkpoints,
        evaluations=args.evaluations,
        decay=args.decay,
        beam=BEAM,
        overrides=args.overrides,
    )
    for seed in args.seeds:
        record.arm(f"seed {seed}", lambda seed=seed: one_seed(args, seed))
        clean()
        record.result["spread"] = spread(record.arms.values())
        record.write()
    print(json.dumps(record.result["spread"], indent=1))


def one_seed(args, seed):
    """Trains once, and scores what can be made of its checkpoints."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        loaded = load_recipe(RECIPE, overrides(args, seed))
        begun = time.perf_counter()
        result = train(loaded, out=folder / "run", progress=PlainProgress())
        wall, state = time.perf_counter() - begun, result.state
        made = weights_of(folder)
        valid = loaded.recipe.data.valid[args.set]
        sides = [read(Path(args.data) / side)[: args.lines] for side in (valid.source, valid.target)]
        return {
            "steps": state.step,
            "tokens": state.tokens,
            "training_seconds": round(state.seconds, 1),
            "wall_seconds_of_training": round(wall, 1),
            "findings": [finding.code for finding in result.findings],
            "scores": {
                name: scored(spec, *sides, tags=valid.tags) | more for name, (spec, more) in made.items()
            },
        }


def clean():
    """Each seed compiles its model anew, and leaves no memory of the card to the next."""
    torch._dynamo.reset()
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def overrides(args, seed):
    """The recipe's changes: the length, checkpoints that are dense enough for a last five, and a cheap evaluation."""
    minutes = args.seconds / 60
    saved, scored = (f"{minutes / count:.6f} minutes" for count in (args.checkpoints, args.evaluations))
    warmup = args.warmup or max(20, round(5 * args.seconds))
    return [
        *data_in(args.data),
        f"seed={seed}",
        f"length={minutes:.6f} minutes",
        f"step.schedule.warmup={warmup} steps",
        f"step.ema={{decay: {args.decay}}}",
        f"evaluate={{every: {scored}, metrics: [loss], best: {{set: {args.set}, metric: loss}}}}",
        f"checkpoint={{every: {saved}, keep: {LAST}}}",
        *args.overrides,
    ]


def weights_of(folder):
    """What is scored: a name for `load_model`, and what is to be said of it."""
    run = folder / "run"
    steps = list_steps(RunFolder(run).checkpoints)
    best = resolve_checkpoint(str(run)).step
    means = {
        f"last {LAST}": average([str(run)], last=LAST, out=folder / "last", metric="loss"),
        "moving average": average([f"{run}@last"], ema=True, out=folder / "ema", metric="loss"),
    }
    return {
        "last": (f"{run}@last:raw", {"steps": steps[-1:]}),
        SINGLE_BEST: (f"{run}@{best}:raw", {"steps": [best]}),
        f"last {LAST}": (str(folder / "last"), losses(means[f"last {LAST}"], steps=steps[-LAST:])),
        "moving average": (str(folder / "ema"), losses(means["moving average"], steps=steps[-1:])),
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
