"""What does each precision cost and give? Loss, speed and memory of the same steps, from the same seed.

    python benchmarks/precision_table.py --data DIR --out result.json [--steps 150] [--rows fp32,...] [KEY=VALUE ...]

DIR is as for `translation_speed.py`. Every row trains the base preset for as many steps on the same windows and then
reads the validation sets for their loss. The checks before step 1 are left out: they cost the same in each.

- `fp32`: float32 throughout, TF32 forbidden;
- `tf32`: float32, and products of matrices in TF32;
- `bf16_mixed`, `fp16_mixed`: weights in float32, products in half precision, fp16 with a loss scale;
- `bf16`: weights in bfloat16, rounded by chance; where this version has it;
- `deterministic`: bf16_mixed with deterministic kernels only, twice, in a process of its own; whether the weights at
  the end have the same bits.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import get_args

import torch
from record import Record
from timed_run import RECIPE, data_in, timed_run

from trimtab.config.step import Precision

ROWS = {
    "fp32": ("fp32", {}),
    "tf32": ("tf32" if "tf32" in get_args(Precision) else "fp32", {"matmul": "high"}),
    "bf16_mixed": ("bf16_mixed", {}),
    "fp16_mixed": ("fp16_mixed", {}),
    "bf16": ("bf16", {}),
    "deterministic": ("bf16_mixed", {"deterministic": True}),
}


def main():
    args = arguments()
    record = Record(
        args.out,
        question="loss, speed and memory of each precision, after the same steps from the same seed",
        steps=args.steps,
        preset=args.preset,
    )
    for row in args.rows.split(","):
        precision, how = ROWS[row]
        if precision not in get_args(Precision):
            record.result["failed"].append({"arm": row, "error": f"step.precision has no {precision}"})
            record.write()
            continue
        alone = how.get("deterministic") and not args.alone
        work = in_a_process if alone else trained
        record.arm(row, lambda row=row, work=work: work(args, row))


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--recipe", default=str(RECIPE))
    parser.add_argument("--preset", default="base")
    parser.add_argument("--rows", default=",".join(ROWS))
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--warm-steps", type=int, default=30)
    parser.add_argument("--compile", default="on", choices=["on", "off"])
    parser.add_argument("--alone", action="store_true", help="this is the process of its own")
    parser.add_argument("overrides", nargs="*")
    return parser.parse_args()


def trained(args, row):
    """One row; of a deterministic one twice."""
    precision, how = ROWS[row]
    torch.set_float32_matmul_precision(how.get("matmul", "highest"))
    deterministic = how.get("deterministic", False)
    changes = [
        *data_in(args.data),
        "evaluate.metrics=[loss]",
        "evaluate.best={metric: loss}",
        f"step.schedule.warmup={max(1, args.steps // 3)} steps",
        "evaluate.every=1000000 steps",
        "checkpoint.every=1000000 steps",
        f"step.compile={args.compile}",
        *args.overrides,
        f"model.preset={args.preset}",
        f"length={args.steps} steps",
        f"step.precision={precision}",
        f"step.deterministic={str(deterministic).lower()}",
    ]

    def run():
        return timed_run(
            changes, warm_steps=args.warm_steps, recipe=args.recipe, look=weights_hash, checked=False
        )

    found = run()
    torch.set_float32_matmul_precision("highest")
    if deterministic:
        again = run()
        same = found["weights_sha256"] == again["weights_sha256"]
        found |= {"same_bits_twice": same, "tokens_per_second_again": again["tokens_per_second"]}
    return found


def weights_hash(run):
    """Of the weights of the last step, as the checkpoint's own list of its files has it."""
    manifest = max((run / "checkpoints").glob("step-*/manifest.json"))
    return {"weights_sha256": sha_in(json.loads(manifest.read_text(encoding="utf-8")))}


def sha_in(manifest):
    entry = manifest["files"]["model.safetensors"]
    return entry["sha256"] if isinstance(entry, dict) else entry


def in_a_process(args, row):
    """Deterministic kernels are asked of a whole process, and cuBLAS must know before it begins."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "row.json"
        options = ["--preset", args.preset, "--steps", str(args.steps), "--warm-steps", str(args.warm_steps)]
        given = ["--data", args.data, "--recipe", args.recipe, "--compile", args.compile]
        subprocess.run(
            [
                sys.executable,
                __file__,
                "--alone",
                "--rows",
                row,
                "--out",
                str(out),
                *given,
                *options,
                *args.overrides,
            ],
            env={**os.environ, "CUBLAS_WORKSPACE_CONFIG": ":4096:8"},
            check=True,
        )
        told = json.loads(out.read_text(encoding="utf-8"))
    if told["failed"]:
        raise RuntimeError(told["failed"][0]["error"])
    return told["arms"][row]


if __name__ == "__main__":
    main()
