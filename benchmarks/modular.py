"""A modular model against one model with tags, of equal step time: chrF and off-target rate by direction, on one GPU.

    python benchmarks/modular.py --data DIR --out benchmarks/modular.json [--minutes 8] [--seeds 1 2 3]
    python benchmarks/modular.py --data DIR --out /tmp/modular.json --dry-run          two minutes on a CPU

DIR has the layout of recipes/multilingual_modular.yaml: en-{de,ja,zh,pt}/{prose,ui}/{train,dev}.{en,xx}.xz. A sentence
runs through as many layers in both arms, so steps take about as long; the result has the time of a step of each, and
`--tagged-layers` makes the decoder of the tagged arm deeper where the modular one is slower. Both arms have the same
tokenizer, data, order (`data.seed`), batch and minutes. Prediction, written before: +1 chrF on average over the
directions, with an interval over seeds above 0, and no higher off-target rate. Planned: 55 minutes on one H200.
"""

import argparse
import json
import lzma
import math
import shutil
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import torch
from plain_progress import PlainProgress
from recipe_quality import commit

from trimtab.checkpoint.journal import read_journal
from trimtab.config.load import load_recipe
from trimtab.decode.search import Search
from trimtab.inference import load_model
from trimtab.launch import train
from trimtab.metrics.chrf import chrf
from trimtab.metrics.off_target import off_target

ROOT = Path(__file__).parent.parent
OTHERS = ("de", "ja", "zh", "pt")
DIRECTIONS = [pair for other in OTHERS for pair in (("en", other), (other, "en"))]
ARMS = {"tagged": "multilingual.yaml", "modular": "multilingual_modular.yaml"}
STUDENT_T = {2: 12.71, 3: 4.30, 4: 3.18, 5: 2.78}
"""Of a 95% interval, by the number of seeds."""


def main() -> None:
    """Trains both arms with each seed and writes the scores after each run, so that an interrupted job keeps them."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--data", type=Path, required=True)
    options.add_argument("--out", type=Path, required=True)
    options.add_argument("--work", type=Path, default=Path("runs/modular"))
    options.add_argument("--minutes", type=float, default=8.0)
    options.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    options.add_argument("--lines", type=int, default=400)
    options.add_argument("--tokens-per-step", type=int, default=32768)
    options.add_argument("--tagged-layers", type=int, default=6)
    options.add_argument("--dry-run", action="store_true")
    args = options.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    if args.dry_run:
        args.tokens_per_step = 1024
        args.seeds, args.lines = args.seeds[:1], 4
    runs: list[dict[str, Any]] = []
    for seed in args.seeds:
        for arm in ARMS:
            runs.append({"arm": arm, "seed": seed, **trained(arm, seed, args)})
            args.out.write_text(json.dumps(result(runs, args), indent=1) + "\n", encoding="utf-8")
    print(json.dumps(result(runs, args)["means"], indent=1))


def trained(arm: str, seed: int, args: argparse.Namespace) -> dict[str, Any]:
    """One run of an arm and its scores; a run that is there already goes on where it is."""
    overrides = [
        f"data.root={args.data.absolute()}",
        f"length={args.minutes} minutes",
        f"step.tokens_per_step={args.tokens_per_step}",
        f"seed={seed}",
        "data.seed=1",
        "evaluate.every=100000 steps",
        "evaluate.lines=20",
        "checkpoint.every=4000 steps",
    ]
    tokenizer = args.work / "tokenizer"
    if tokenizer.is_dir():
        overrides.append(f"data.tokenizer.path={tokenizer.absolute()}")
    if arm == "tagged":
        overrides.append(f"model.decoder_layers={args.tagged_layers}")
    if args.dry_run:
        overrides += dry_run(arm, args.data)
    loaded = load_recipe(ROOT / "recipes" / ARMS[arm], overrides)
    folder = args.work / f"{arm}-{seed}"
    ended = train(loaded, out=folder, progress=PlainProgress(), auto_resume=True)
    if not tokenizer.is_dir():
        shutil.copytree(folder / "tokenizer", tokenizer)
    lines = read_journal(folder / "metrics.jsonl")
    half = lines[len(lines) // 2 :] or lines
    return {
        "steps": ended.state.step,
        "parameters": load_model(spec(arm, folder, DIRECTIONS[0]), device="cpu").model.num_parameters(),
        "step_ms": 1000
        * (half[-1]["seconds"] - half[0]["seconds"])
        / max(1, half[-1]["step"] - half[0]["step"]),
        "fill": statistics.mean(line["fill"] for line in half),
        "micro_batches": statistics.mean(line["micro_batches"] for line in half),
        "scores": {f"{one}-{other}": scored(arm, folder, (one, other), args) for one, other in DIRECTIONS},
    }


def dry_run(arm: str, data: Path) -> list[str]:
    """A model, steps and corpora so small that both arms take a minute on a CPU."""
    small = [
        "model.preset=tiny",
        "length=4 steps",
        "step.tokens_per_step=1024",
        "step.schedule.warmup=2 steps",
    ]
    small += [
        "data.max_tokens=64",
        "data.tokenizer.vocabulary_size=4000",
        "data.tokenizer.training_lines=4000",
    ]
    small += ["model.dim=32", "model.heads=2", "model.feed_forward=64", "evaluate.lines=2"]
    names = [f"en-{other}/ui" for other in OTHERS]
    for number, name in enumerate(names):
        small.append(f"data.train.{2 * number}.source={name}/dev.en.xz")
        small.append(f"data.train.{2 * number}.target={name}/dev.{OTHERS[number]}.xz")
        small.append(f"data.train.{2 * number + 1}.source={name.replace('ui', 'prose')}/dev.en.xz")
        small.append(
            f"data.train.{2 * number + 1}.target={name.replace('ui', 'prose')}/dev.{OTHERS[number]}.xz"
        )
    if arm == "modular":
        small += ["model.encoder_components.shared=1", "model.decoder_components.shared=1"]
        small += [f"model.decoder_components.{language}=1" for language in ("en", *OTHERS)]
    else:
        small += ["model.encoder_layers=1", "model.decoder_layers=2"]
    return small


def spec(arm: str, folder: Path, pair: tuple[str, str]) -> str:
    """What the model of a direction is called."""
    return f"{folder}@last" + (f"#{'-'.join(pair)}" if arm == "modular" else "")


def scored(arm: str, folder: Path, pair: tuple[str, str], args: argparse.Namespace) -> dict[str, float]:
    """chrF and off-target rate of a direction on the first lines of its development set, beam 4."""
    one, other = pair
    corpus = f"en-{other if one == 'en' else one}"
    sources, references = (
        texts(args.data / corpus / "prose" / f"dev.{language}.xz", args.lines) for language in pair
    )
    tags = () if arm == "modular" else (f"<2{other}>",)
    begun = time.perf_counter()
    model = load_model(spec(arm, folder, pair))
    outputs = model.translator(search=Search(beam=4), tags=tags).translate(sources)
    found = chrf(outputs, references).value, off_target(outputs, references).value
    print(arm, f"{one}-{other}", *(f"{each:.2f}" for each in found), flush=True)
    return {"chrf": found[0], "off_target": found[1], "seconds": time.perf_counter() - begun}


def texts(path: Path, limit: int) -> list[str]:
    """The first lines of a file."""
    with lzma.open(path, "rt", encoding="utf-8", newline="\n") as file:
        return file.read().split("\n")[:-1][:limit]


def result(runs: list[dict[str, Any]], args: argparse.Namespace) -> dict[str, Any]:
    """Everything measured so far, with the means over directions and the difference over seeds."""
    found: dict[str, dict[int, dict[str, float]]] = {arm: {} for arm in ARMS}
    for run in runs:
        scores = run["scores"].values()
        found[run["arm"]][run["seed"]] = {
            "chrf": statistics.mean(each["chrf"] for each in scores),
            "off_target": statistics.mean(
                0.0 if math.isnan(each["off_target"]) else each["off_target"] for each in scores
            ),
            "step_ms": run["step_ms"],
        }
    paired = [seed for seed in found["modular"] if seed in found["tagged"]]
    gains = [found["modular"][seed]["chrf"] - found["tagged"][seed]["chrf"] for seed in paired]
    difference: dict[str, float] = {}
    if gains:
        difference["chrf"] = statistics.mean(gains)
    if len(gains) > 1:
        half = STUDENT_T.get(len(gains), 2.0) * statistics.stdev(gains) / math.sqrt(len(gains))
        difference |= {"lowest": difference["chrf"] - half, "highest": difference["chrf"] + half}
    return {
        "question": "modular against tagged, equal path and minutes: chrF and off-target rate by direction",
        "card": torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU",
        "torch": torch.__version__,
        "commit": commit(),
        "command": " ".join(["python", *sys.argv]),
        "runs": runs,
        "means": {"by_seed": found, "modular minus tagged": difference},
    }


if __name__ == "__main__":
    main()
