"""The gradient of a step of a modular model, cut 1, 4 and 16 ways and as training cuts it, over 1, 2 and 3 processes.

    python benchmarks/modular_gradients.py --data DIR --out benchmarks/modular_gradients.json

Reads a global batch of `recipes/multilingual_modular.yaml` from real text (DIR has its corpora), in float32 without
dropout, with the components of the recipe in small. Each process takes its share of the micro-batches, and gloo sums
what they found, as training does. The slow twin is each direction alone and whole, one after another, divided by hand.
What is compared is every weight's gradient: the greatest difference from the twin, relative to its norm, by component
too. `mean_over` is tried both ways. Differences of at most 1e-6 are expected.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import torch
from record import Record

from trimtab.build import build
from trimtab.config.load import load_recipe
from trimtab.config.paths import resolve_paths
from trimtab.distributed import ONE_RANK
from trimtab.distributed.launched import launched
from trimtab.distributed.share import deal
from trimtab.distributed.torch_ranks import launched_ranks
from trimtab.progress import Silent
from trimtab.step.accumulate import accumulate
from trimtab.step.over_ranks import summed
from trimtab.step.take_step import fill_missing
from trimtab.tasks.task_of import open_datasets

ROOT = Path(__file__).parents[1]
SMALL = (
    "model.dim=64", "model.heads=4", "model.feed_forward=128", "model.dropout=0.0", "step.precision=fp32",
    "step.tokens_per_step=4096", "step.tokens_per_micro_batch=1024", "data.workers=0",
    "data.tokenizer={kind: sentencepiece, vocabulary_size: 4000, training_lines: 20000}",
)  # fmt: skip
CUTS = {"1": 1, "4": 4, "16": 16, "as training cuts it": None}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--tokenizer", help=argparse.SUPPRESS)
    parser.add_argument("--mean-over", default="step", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        mine = launched()
        with nullcontext(ONE_RANK) if mine is None else launched_ranks(mine) as ranks:
            differences(args, ranks)
        return
    record = Record(args.out, question="does a modular step's gradient depend on its cut?", device="cpu")
    with tempfile.TemporaryDirectory() as folder:
        for mean_over in ("step", "component"):
            for world in (1, 2, 3):
                name = f"{world} {'process' if world == 1 else 'processes'}, mean over the {mean_over}"
                record.arm(
                    name,
                    lambda world=world, mean_over=mean_over: of_processes(args, world, mean_over, folder),
                )
    record.result["greatest"] = max(arm[cut] for arm in record.arms.values() for cut in CUTS)
    record.write()
    print(record.result["greatest"])


def of_processes(args, world, mean_over, folder):
    """What the first of so many processes found."""
    out = Path(folder) / "found.json"
    told = ["--worker", "--data", args.data, "--out", out, "--tokenizer", Path(folder) / "tokenizer"]
    told += ["--mean-over", mean_over]
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={world}"]
    subprocess.run([str(each) for each in [*command, __file__, *told]], check=True)
    return json.loads(out.read_text(encoding="utf-8"))


def differences(args, ranks):
    overrides = [f"data.root={Path(args.data).absolute()}", f"model.mean_over={args.mean_over}", *SMALL]
    recipe = resolve_paths(load_recipe(ROOT / "recipes/multilingual_modular.yaml", overrides))
    folder = Path(args.tokenizer)
    if not ranks.is_first:
        ranks.barrier()
    datasets = open_datasets(recipe, tokenizer_folder=folder, progress=Silent())
    if ranks.is_first:
        ranks.barrier()
    parts = build(recipe, datasets, device=torch.device("cpu"), ranks=ONE_RANK)
    model, objective = parts.model, parts.stepper.objective
    window, _ = next(parts.stream.batches(0))
    expected = twin(parts, window)
    norm = float(torch.cat([each.flatten() for each in expected.values()]).norm())
    found = {"targets": window.num_targets, "directions": len(recipe.model.directions), "norm": norm}
    for name, pieces in CUTS.items():
        cut = parts.batching.cut_at(window, 0) if pieces is None else parts.batching.mixed(window, pieces)
        model.zero_grad()
        mine = deal(cut, ranks.world_size)[ranks.rank]
        total = accumulate(objective, mine, targets=torch.tensor(float(window.num_targets)))
        weights = [each for each in model.parameters() if each.requires_grad]
        if ranks.world_size > 1:
            summed(total, weights, ranks)
        fill_missing(weights)
        gradients = {key: weight.grad for key, weight in model.named_parameters()}
        worst = max(float((gradients[key] - each).norm()) for key, each in expected.items()) / norm
        found[name] = worst
        found[f"{name}: micro-batches"] = len(cut)
    if ranks.is_first:
        Path(args.out).write_text(json.dumps(found), encoding="utf-8")


def twin(parts, window):
    """Each direction alone and whole; its gradients added up and divided by the targets of the step or, by component,
    by those of the directions that use it."""
    model, users = parts.model, parts.model.users()
    sums = {key: torch.zeros_like(weight) for key, weight in model.named_parameters()}
    targets = {}
    (whole,) = parts.batching.mixed(window, 1)
    for name, pack in whole.parts:
        targets[name] = pack.num_targets
        model.zero_grad()
        parts.stepper.objective(replace(whole, parts=((name, pack),), factors=None)).objective.backward()
        for key, weight in model.named_parameters():
            sums[key] += 0 if weight.grad is None else weight.grad
    over = parts.recipe.model.mean_over

    def divisor(key):
        own = users[model.component_of(key)]
        return sum(count for name, count in targets.items() if over == "step" or name in own) or 1

    return {key: total / divisor(key) for key, total in sums.items()}


if __name__ == "__main__":
    main()
