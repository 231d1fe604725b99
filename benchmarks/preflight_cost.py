"""What do the checks before the first step cost, and what is compiled in them that the run does not need?

    python benchmarks/preflight_cost.py --out result.json [--preset base] [--compile on] [--data DIR] [KEY=VALUE ...]

Trains on the demo's text, or with `--data` on `recipes/en_de.yaml`, where DIR holds {prose,ui}/{train,dev}.{en,de}.xz
and `tok`, the folder of a vocabulary. The caches of compiled kernels are empty when it begins. Two arms:

- `with checks`: every check of `training.preflight` by itself, then the first steps, then the loss of a validation set;
- `without checks`: the steps and the loss alone. Only its numbers of graphs are to be compared: its kernels are found
  in the caches.

`seconds` are those until the device is done, `graphs` what torch.compile made. On a CPU, where a run is not compiled,
`--compile on` compiles blocks anyway and gives packs one shape, as on a GPU.
"""

import argparse
import json
import tempfile
import time
from importlib.resources import files
from pathlib import Path

import torch
from quality_race import cold_caches
from record import Record
from timed_run import RECIPE, data_in
from torch._dynamo.utils import counters

from trimtab.build import build
from trimtab.choices import shape_for
from trimtab.config.load import load_recipe
from trimtab.config.paths import resolve_paths
from trimtab.progress import Silent
from trimtab.tasks.task_of import open_datasets
from trimtab.tasks.text.validation_scores import loss_of
from trimtab.training.preflight import every_check
from trimtab.types import TrainState

STEPS = 6
"""Enough for a step to be recorded as a CUDA graph, and launched."""


def main():
    args = arguments()
    record = Record(args.out, question="seconds and compiled graphs of each check before the first step")
    with tempfile.TemporaryDirectory() as folder:
        cold_caches(Path(folder))
        recipe = resolve_paths(load_recipe(*chosen(args)))
        sources = open_datasets(recipe, tokenizer_folder=Path(folder) / "tokenizer", progress=Silent())
        for name, checks in (("with checks", every_check.of_the_model), ("without checks", None)):
            record.arm(
                name, lambda checks=checks: arm(recipe, sources, checks, compiled=args.compile == "on")
            )
    compare(record)


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", required=True)
    parser.add_argument("--preset", default="base")
    parser.add_argument("--compile", default="on", choices=["on", "off"])
    parser.add_argument(
        "--data", help="folder of the corpora of recipes/en_de.yaml; by default the demo's text"
    )
    parser.add_argument("overrides", nargs="*")
    return parser.parse_args()


def chosen(args):
    """The recipe and its changes."""
    demo = files("trimtab.demo")
    recipe, data = (
        (RECIPE, data_in(args.data)) if args.data else (demo / "recipe.yaml", [f"data.root={demo / 'data'}"])
    )
    model = f"model={{kind: encoder_decoder, preset: {args.preset}, dropout: 0.1}}"
    return str(recipe), [*data, model, f"step.compile={args.compile}", *args.overrides]


def arm(recipe, sources, checks, *, compiled):
    """Seconds and graphs of each piece of work, in their order."""
    torch._dynamo.reset()
    counters.clear()
    pieces, held = {}, {}

    def piece(name, work):
        before, begun = graphs(), time.perf_counter()
        found = work()
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        seconds = round(time.perf_counter() - begun, 3)
        pieces[name] = {"seconds": seconds, "graphs": graphs() - before}
        print(f"{name:32s} {seconds:8.3f} s {pieces[name]['graphs']} graphs", flush=True)
        return found

    parts = piece("building", lambda: built(recipe, sources, compiled=compiled))
    findings = piece("of_the_data", lambda: list(every_check.of_the_data(parts))) if checks else []
    for check in checks(parts) if checks else ():
        findings += piece(check.__name__, lambda check=check: every_check.run_check(check, parts))
    stream = parts.stream.batches(0)
    parts.model.train()
    for step in range(STEPS):
        held["packs"] = next(stream)[1]
        parts.stepper.begin(TrainState(step=step))
        piece(f"step {step + 1}", lambda: parts.stepper.take_step(held["packs"], learning_rate=1e-4))
    stream.close()
    parts.model.eval()
    valid = next(iter(parts.datasets.valid.values()))
    piece(
        "loss of a validation set",
        lambda: loss_of(parts, parts.evaluation_model.copy().eval(), valid, pairs=256),
    )
    return {
        "parameters": parts.model.num_parameters(),
        "precision": parts.precision,
        "compiled": compiled,
        "target_slots": parts.batching.shape.target_slots,
        "findings": [str(each) for each in findings],
        "checks": total(pieces, ["of_the_data", *(each.__name__ for each in checks)]),
        "steps": total(pieces, [name for name in pieces if name.startswith("step ")]),
        "pieces": pieces,
    }


def built(recipe, sources, *, compiled):
    """The parts of the run; on a CPU they are compiled here."""
    parts = build(recipe, sources)
    if compiled and parts.device.type == "cpu":
        parts.batching.shape = shape_for(parts.recipe, sources.lengths, packed=True)
        parts.model.compile_blocks()
    return parts


def graphs():
    return counters["stats"]["unique_graphs"]


def total(pieces, names):
    """Seconds and graphs of several pieces together."""
    found = [pieces[name] for name in names if name in pieces]
    return {
        "seconds": round(sum(each["seconds"] for each in found), 2),
        "graphs": sum(each["graphs"] for each in found),
    }


def compare(record):
    """How many graphs are there for the checks' sake alone."""
    if len(record.arms) == 2:
        found = {
            name: sum(piece["graphs"] for piece in arm["pieces"].values())
            for name, arm in record.arms.items()
        }
        record.result["graphs_for_the_checks_alone"] = found["with checks"] - found["without checks"]
        record.write()
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
