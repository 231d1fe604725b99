"""Runs the experiments where there is a GPU but no repository, and packs what comes of them into one file.

    python benchmarks/lab_on_gpu.py --out lab.json --seconds 480 [--parallel 8] [--scale tiny] [--device cpu] [NAME ...]
    python benchmarks/lab_on_gpu.py --unpack lab.json

As `trimtab lab run`, which needs the packages of the command line as well. Without names it runs all experiments that
have arms, those of ORDER first. The file has the records of all runs, so that after `--unpack` the same call continues;
`--unpack` also puts the results of the experiments' own scale beside the experiments. It is written after each
run, whole or not at all; after `--seconds` what still runs is stopped.
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path

from trimtab.errors import TrimtabError
from trimtab.lab.experiment import load_experiment, names_in
from trimtab.lab.laboratory import Plan, run_experiments
from trimtab.lab.table import described, table_of

EXPERIMENTS = Path(__file__).parents[1] / "experiments"
RUNS = Path("runs/lab")
ORDER = (
    "rms_norm", "label_smoothing", "muon", "positions", "dropout", "beta2", "warm_up", "averaging_after_decay",
    "qk_norm", "decoder_positions", "encoder_decoder", "relative_positions_collapse", "norm_position", "plain_sgd",
    "geglu", "biases", "tied_embeddings", "z_loss", "averaging_at_a_constant_rate", "clipping", "vocabulary_size",
)  # fmt: skip
"""What is worth most for its time first: arms beside the unchanged recipe, whose runs all share."""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path)
    parser.add_argument("--unpack", type=Path)
    parser.add_argument("--runs", type=Path, default=RUNS)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--parallel", type=int, default=1)
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--scale")
    parser.add_argument("--device")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    if args.unpack is not None:
        return unpack(args.unpack, args.runs)
    return run(args)


def run(args):
    begun = time.perf_counter()
    known = [
        name for name in names_in(EXPERIMENTS) if load_experiment(EXPERIMENTS, name).experiment.script is None
    ]
    names = args.names or sorted(known, key=lambda name: (name not in ORDER, [*ORDER, name].index(name)))
    results = args.runs / "packed"
    plan = Plan(
        scale=args.scale,
        seeds=args.seeds,
        parallel=args.parallel,
        device=args.device,
        budget_s=args.seconds,
        cache=args.runs,
        out=results,
    )
    code = 0
    try:
        run_experiments(
            [load_experiment(EXPERIMENTS, name) for name in names],
            plan,
            say=said,
            after_each=lambda: pack(args, results, time.perf_counter() - begun),
        )
    except TrimtabError as error:
        said(f"stopped: {error}")
        code = error.exit_code
    if args.out is not None:
        pack(args, results, time.perf_counter() - begun)
        said(f"{args.out}, after {time.perf_counter() - begun:.0f} s")
    found = {name: results / f"{name}.json" for name in names if (results / f"{name}.json").is_file()}
    for row in table_of(EXPERIMENTS, instead=found):
        if row.name in found:
            said(f"\n{row.name}\n{described(row)}")
    for log in sorted(args.runs.glob("worker-*.log"))[:2] if code else []:
        said(f"{log}:\n{log.read_text(errors='replace')[-2000:]}")
    return code


def pack(args, results, seconds):
    """One JSON file: name of each file, and its text as JSON; whole or not at all."""
    if args.out is None:
        return
    files = {
        "results": {path.name: json.loads(path.read_text()) for path in sorted(results.glob("*.json"))},
        "records": {path.name: json.loads(path.read_text()) for path in sorted(args.runs.glob("*.json"))},
    }
    args.out.parent.mkdir(parents=True, exist_ok=True)
    part = args.out.with_name(f"{args.out.name}.part")
    part.write_text(json.dumps({"seconds": round(seconds, 1), "scale": args.scale, **files}))
    part.replace(args.out)


def unpack(path, runs):
    packed = json.loads(path.read_text())
    runs.mkdir(parents=True, exist_ok=True)
    for name, record in packed["records"].items():
        (runs / Path(name).name).write_text(json.dumps(record) + "\n")
    for name, result in packed["results"].items():
        loaded = load_experiment(EXPERIMENTS, Path(name).stem)
        if packed["scale"] is None and result["arms"]:
            if result["experiment_sha256"] != loaded.sha256:
                raise SystemExit(f"{name}: its experiment was changed after it ran")
            loaded.result.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n")
    said(f"{len(packed['records'])} records in {runs}")
    return 0


def said(text):
    print(text, flush=True)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
