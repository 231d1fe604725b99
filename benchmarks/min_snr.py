"""Does Min-SNR weighting make better digits after few steps, for models that predict the noise, and v?

    python benchmarks/min_snr.py [--data DIR] [--out min_snr.json] [--steps 1000] [--side-by-side]

DIR is what `diffusion_data.py` wrote, by default the folder `images` beside the checkout. Each arm is `diffusion.py`
with another prediction or weighting, of three seeds; lengths are in steps, so that arms may run side by side on one
card. The measure is how many of 1,000 samples without guidance a classifier of real digits reads as the class that
was asked for, in percent, by the last averaged weights. `PREDICTIONS` were written before the first run and are
judged as `docs/how_to/lab.md` says; the experiment `min_snr` of the laboratory shows the result. With `--dry-run` or
`--quick`, everything runs with a tiny model on a CPU.
"""

import argparse
import copy
import json
import statistics
import tempfile
from functools import partial
from pathlib import Path

import side_by_side
from diffusion import train_and_read
from record import Record

SEEDS = (1, 2, 3)
ARMS = ("epsilon, none", "epsilon, min_snr", "v, none", "v, min_snr")
PREDICTIONS = (
    # arm, than, expected, margin in points, why
    (
        "epsilon, min_snr",
        "epsilon, none",
        "better",
        1.0,
        "arXiv 2303.09556: 3.4 times fewer steps to the same FID",
    ),
    ("v, min_snr", "v, none", "same", 1.0, "v weighs times more evenly by itself"),
)
MEASURE = "last, guidance 1"
HERE = Path(__file__).resolve().parent
RESULT = HERE / "min_snr.json"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=HERE.parents[1] / "images")
    parser.add_argument("--out", help=f"by default {RESULT.name} beside this file")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--preset", default="tiny")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--dry-run", "--quick", action="store_true")
    side_by_side.add_options(parser)
    args = parser.parse_args()
    if not (args.data / "digits").is_dir():
        raise SystemExit(
            f"--data: {args.data} has no folder `digits`; `diffusion_data.py` says how to make it"
        )
    with tempfile.TemporaryDirectory() as place:
        args.out = args.out or (Path(place) / RESULT.name if args.dry_run else RESULT)
        measure(args)


def measure(args):
    """All arms with all seeds."""
    names = [f"{arm}, seed {seed}" for seed in SEEDS for arm in ARMS]
    keys = ("arm", "than", "expect", "margin", "because")
    record = Record(
        args.out,
        question="How many digits are read as their class after few steps, with and without Min-SNR",
        steps=args.steps,
        preset=args.preset,
        predictions=[dict(zip(keys, each, strict=True)) for each in PREDICTIONS],
    )
    works = {name: partial(one, args, name) for name in names}

    def conclude():
        record.result |= shown(record.result)

    side_by_side.do_arms(args, record, works, conclude=conclude)
    print(json.dumps(record.result.get("verdict"), indent=1))


def one(args, name):
    prediction, weighting, seed = name.replace("seed ", "").split(", ")
    told = copy.copy(args)
    told.prediction, told.weighting, told.seed = prediction, weighting, int(seed)
    told.what, told.run, told.pictures, told.minutes = "digits", None, None, 0.0
    told.guidance, told.samples, told.latents = [1.0], 1000, False
    found = train_and_read(told)
    return {key: value for key, value in found.items() if key != "curve"}


def shown(result):
    """What the laboratory reads of a result."""
    return {
        "experiment": "min_snr",
        "hardware": result["card"],
        "seeds": list(SEEDS),
        "verdict": verdict(result["arms"]),
    }


def verdict(arms):
    """The mean of each arm, and what the numbers say of each prediction."""
    from trimtab.lab.experiment import Prediction
    from trimtab.lab.statistics import holm, paired
    from trimtab.lab.verdict import Comparison

    score = {name: 100 * arm["samples"][MEASURE]["read_as_their_class"] for name, arm in arms.items()}
    means = {
        arm: round(statistics.fmean(there), 2)
        for arm in ARMS
        if (there := [score[f"{arm}, seed {seed}"] for seed in SEEDS if f"{arm}, seed {seed}" in score])
    }
    found = []
    for arm, than, expect, margin, because in PREDICTIONS:
        seeds = [seed for seed in SEEDS if {f"{arm}, seed {seed}", f"{than}, seed {seed}"} <= score.keys()]
        if len(seeds) >= 2:
            gains = [score[f"{arm}, seed {seed}"] - score[f"{than}, seed {seed}"] for seed in seeds]
            told = Prediction(arm=arm, than=than, expect=expect, margin=margin, because=because)
            found.append(Comparison(told, tuple(seeds), tuple(gains), paired(gains)))
    corrected = holm([each.result.p for each in found])
    judged = [
        {
            "arm": each.prediction.arm, "than": each.prediction.than, "expect": each.prediction.expect,
            "gains": [round(gain, 2) for gain in each.differences], "mean": round(each.result.mean, 2),
            "interval": [round(each.result.low, 2), round(each.result.high, 2)],
            "p": round(p, 4), "outcome": each.outcome(p=p),
        }
        for each, p in zip(found, corrected, strict=True)
    ]  # fmt: skip
    return {
        "mean_read_as_their_class": means,
        "predictions": judged,
        "as predicted": bool(judged) and all(each["outcome"] == "confirmed" for each in judged),
        "claims": [{"text": sentence(each), "holds": each["outcome"] == "confirmed"} for each in judged],
    }


def sentence(judged):
    """A prediction with its numbers."""
    low, high = judged["interval"]
    expected = "the same as" if judged["expect"] == "same" else f"{judged['expect']} than"
    return (
        f"{judged['arm']} is {expected} {judged['than']}: {judged['mean']:+.1f} points ({low:+.1f} to {high:+.1f}), "
        f"corrected p {judged['p']:.2g}, {len(judged['gains'])} seeds: {judged['outcome']}"
    )


if __name__ == "__main__":
    main()
