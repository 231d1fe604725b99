"""What several GPUs of one host give: speed, equal losses, a run that survives a killed rank, a larger model.

    python benchmarks/scaling.py --out scaling.json                   # two GPUs, under 6 minutes
    python benchmarks/scaling.py --out scaling_fsdp.json --limit 540 \\
        --arms fsdp,fsdp_one_card,fsdp_peer,fsdp_adapter,fsdp_compiled    # 7 billion weights, under 10 minutes
    python benchmarks/scaling.py --out tiny.json --tiny               # tries everything on a CPU, with Gloo

The runs are those of `torchrun -m trimtab train`, on the text of `trimtab demo`; translators read three of its pairs in
a line.

- `speed`: the big preset at 131,072 target tokens a step on one GPU and on two: real source and target tokens a second
  over `--seconds` of training, the first steps (compiling, recording) left out. Both learn from the same steps.
- `losses`: a small model for 40 steps on one GPU and on two, in float32 without dropout: the largest difference.
- `killed`: the same in half precision with deterministic kernels and dropout, on two; a rank is killed, the others must
  end within 15 s and name it, the run resumes, and ends with the weights of an undisturbed one.
- `mixed`: the losses of the small model in bfloat16, where steps are recorded.
- `ddp`: an encoder-decoder of the same size in Hugging Face transformers (Marian) under DistributedDataParallel, with
  bfloat16 autocast and fused AdamW, padded rows of equal length: tokens a second on one GPU and on two.
- `fsdp`: a decoder of 7 billion weights with `parallel: {kind: fsdp}` on two GPUs, the memory of each capped
  (`scaling_fsdp.py`); `fsdp_one_card`: the same run on one capped GPU, where it must run out of memory, and the losses
  of four such layers on one GPU and on two; `fsdp_compiled`: on two with compiled layers; `fsdp_adapter`: on two, LoRA
  on the frozen model; `fsdp_peer`: Mistral of transformers at the same shape under PyTorch's `fully_shard`.

Arms that `--limit` has no time for are left out, and named.
"""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from scaling_fsdp import fsdp, fsdp_adapter, fsdp_compiled, fsdp_one_card, fsdp_peer
from scaling_runs import begin, digest, end, finished, lines, process_of_rank, recipe_file, tail, write_text

SMALL = {
    "model": {"kind": "encoder_decoder", "preset": "tiny", "dropout": 0.0},
    "step.tokens_per_step": 8192,
    "step.tokens_per_micro_batch": 2048,
    "length": "40 steps",
    "evaluate.every": "20 steps",
    "checkpoint.every": "10 steps",
    "data.workers": 2,
}


def main():
    args = arguments()
    os.environ.setdefault("NCCL_NVLS_ENABLE", "0")
    import torch
    from record import Record

    args.cuda = torch.cuda.is_available() and not args.tiny
    args.until = time.perf_counter() + args.limit
    with tempfile.TemporaryDirectory() as folder:
        args.folder = Path(folder)
        write_text(args)
        record = Record(
            args.out,
            question="what several GPUs of one host give",
            ranks=args.ranks,
            tiny=args.tiny,
            left_out=[],
        )
        arms = {
            "speed": (speed, 150),
            "losses": (losses, 60),
            "killed": (killed, 80),
            "ddp": (ddp, 60),
            "mixed": (mixed, 50),
            "fsdp": (fsdp, 120),
            "fsdp_one_card": (fsdp_one_card, 120),
            "fsdp_peer": (fsdp_peer, 80),
            "fsdp_compiled": (fsdp_compiled, 110),
            "fsdp_adapter": (fsdp_adapter, 80),
        }
        for name, (work, needs) in arms.items():
            if name not in args.arms.split(","):
                continue
            if not args.tiny and time.perf_counter() + needs > args.until:
                record.result["left_out"].append(name)
                continue
            record.arm(name, lambda work=work: work(args))
        record.write()
        print(json.dumps(record.result["arms"], indent=1))


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", default="scaling.json")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--limit", type=float, default=345.0)
    parser.add_argument("--arms", default="speed,losses,killed,ddp,mixed")
    parser.add_argument("--micro", type=int, default=16384, help="target tokens of a micro-batch")
    parser.add_argument("--decoder-layers", type=int, default=32)
    parser.add_argument(
        "--decoder-micro", type=int, default=8192, help="tokens of a micro-batch of the decoder"
    )
    parser.add_argument("--length", type=int, default=1024, help="tokens of the decoder's longest document")
    parser.add_argument("--recompute", default="block", choices=["block", "none"], help="of the decoder")
    parser.add_argument("--cap-gib", type=float, default=75.0, help="of PyTorch's allocator, on each GPU")
    parser.add_argument("--tiny", action="store_true")
    args = parser.parse_args()
    if args.tiny:
        args.decoder_micro, args.length = 512, 128
    return args


# Arms


def speed(args):
    """The big preset on one GPU and on all; while the first is measured, nothing else runs."""
    changes = {
        "model": {"kind": "encoder_decoder", "preset": "big"},
        "step.tokens_per_step": 131072,
        "step.tokens_per_micro_batch": args.micro,
        "step.compile": "on",
        "step.optimizer": {"kind": "adamw", "learning_rate": 3e-4},
        "length": "100000 steps",
        "evaluate.every": "100000 steps",
        "checkpoint.every": "100000 steps",
    }
    recipe, found = recipe_file(args, "big", changes), {}
    for ranks in (1, args.ranks):
        process, out = begin(args, f"big{ranks}", recipe, ranks=ranks)
        begun = time.perf_counter()
        try:
            found[str(ranks)] = {
                **measured(args, process, out),
                "seconds_in_all": time.perf_counter() - begun,
            }
        except Exception as error:
            raise RuntimeError(f"{ranks} ranks: {error}: {tail(args, f'big{ranks}')}") from None
        finally:
            end(process, ranks=ranks)
        found[str(ranks)]["recorded"] = (
            "could not be recorded" not in (args.folder / f"big{ranks}.log").read_text()
        )
    one, all_of_them = found["1"], found[str(args.ranks)]
    found["times_as_fast"] = round(all_of_them["tokens_per_second"] / one["tokens_per_second"], 3)
    for each in (one, all_of_them):
        each["losses"] = each["losses"][::20]  # with dropout, which differs by rank
    return found


def measured(args, process, out):
    """Tokens a second between the first line after the warm-up and the last."""
    seconds, warm = (4.0, 3) if args.tiny else (args.seconds, 20)
    waits_until = time.perf_counter() + 150
    while len(lines(out)) <= warm:
        if process.poll() is not None or time.perf_counter() > waits_until:
            raise RuntimeError("no steps were taken")
        time.sleep(0.2)
    time.sleep(seconds)
    found = lines(out)
    # On a GPU the clock is read with every tenth step.
    read = [line for line in found if line["step"] > warm and (line["step"] % 10 == 0 or not args.cuda)]
    first, last = read[0], read[-1]
    tokens = sum(line["tokens"] for line in found if first["step"] < line["step"] <= last["step"])
    took, steps = last["seconds"] - first["seconds"], last["step"] - first["step"]
    return {
        "tokens_per_second": round(tokens / took),
        "steps": steps,
        "step_seconds": round(took / steps, 4),
        "micro_batches": sorted({line["micro_batches"] for line in found}),
        "fill": last["fill"],
        "losses": [line["loss"] for line in found],
    }


def losses(args):
    """The same losses on one GPU and on several."""
    exact = recipe_file(args, "exact", {**SMALL, "step.precision": "fp32"})
    one, _, _ = finished(args, "exact1", exact, ranks=1)
    several, _, _ = finished(args, f"exact{args.ranks}", exact, ranks=args.ranks)
    pairs = [*zip(lines(one), lines(several), strict=True)]
    return {
        "steps": len(pairs),
        "largest_difference_of_losses": max(abs(a["loss"] - b["loss"]) for a, b in pairs),
        "largest_relative_difference_of_norms": max(
            abs(a["grad_norm"] / b["grad_norm"] - 1) for a, b in pairs
        ),
        "same_tokens_in_each_step": all(a["tokens"] == b["tokens"] for a, b in pairs),
    }


def killed(args):
    """A killed rank, and the run that goes on after it beside an undisturbed one."""
    changes = {**SMALL, "step.deterministic": True}
    changes["model"] = {**SMALL["model"], "dropout": 0.1}
    recipe = recipe_file(args, "deterministic", changes)
    undisturbed, _, _ = finished(args, "undisturbed", recipe, ranks=args.ranks)
    kill = kill_a_rank(args, recipe)
    finished(args, "killed", recipe, "--resume", ranks=args.ranks)
    return {
        "kill": kill,
        "weights_of_the_killed_run_are_those_of_the_undisturbed": digest(args.folder / "killed")
        == digest(undisturbed),
    }


def mixed(args):
    """The losses in half precision, where steps are recorded with their sums over ranks."""
    recipe = recipe_file(args, "mixed", {**SMALL, "step.precision": "bf16_mixed"})
    one, _, _ = finished(args, "mixed1", recipe, ranks=1)
    several, _, _ = finished(args, f"mixed{args.ranks}", recipe, ranks=args.ranks)
    pairs = [*zip(lines(one), lines(several), strict=True)]
    return {
        "largest_difference_of_losses": max(abs(a["loss"] - b["loss"]) for a, b in pairs),
        "recorded": "could not be recorded" not in (args.folder / f"mixed{args.ranks}.log").read_text(),
        "last_losses": [pairs[-1][0]["loss"], pairs[-1][1]["loss"]],
    }


def kill_a_rank(args, recipe):
    """Kills the last rank after a checkpoint; how long the job then takes to end, and what it says."""
    process, out = begin(args, "killed", recipe, ranks=args.ranks)
    try:
        while len(lines(out)) < 20:
            if process.poll() is not None:
                raise RuntimeError(f"ended too early: {tail(args, 'killed')}")
            time.sleep(0.02)
        os.kill(process_of_rank(process.pid, args.ranks - 1), signal.SIGKILL)
        killed = time.perf_counter()
        code = process.wait(timeout=60)
        took = time.perf_counter() - killed
    finally:
        process.kill()
    log = (args.folder / "killed.log").read_text(errors="replace")
    exits = [int(each) for each in re.findall(r"exitcode *: (-?\d+)", log)]
    named = re.search(rf"rank {args.ranks - 1} \(process \d+\) [^\n]*", log)
    return {
        "seconds_until_the_job_ended": round(took, 2),
        "exit_code_of_torchrun": code,
        "exit_codes_of_ranks": exits,
        "said": named.group(0) if named else tail(args, "killed"),
        "after_step": len(lines(out)),
    }


def ddp(args):
    """transformers under DistributedDataParallel, at the same size."""
    found = {}
    for ranks in (1, args.ranks):
        out = args.folder / f"ddp{ranks}.json"
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        if not args.cuda:
            environment["CUDA_VISIBLE_DEVICES"] = ""
        command = [
            sys.executable,
            *("-m", "torch.distributed.run", "--standalone", "--local-addr", "127.0.0.1"),
            *("--nproc-per-node", str(ranks)),
            str(Path(__file__).parent / "scaling_ddp.py"),
            *("--out", str(out), "--seconds", "3" if args.tiny else "12"),
            *(["--tiny"] if args.tiny else []),
        ]
        subprocess.run(command, env=environment, check=True, timeout=1500 if args.tiny else 150)
        found[str(ranks)] = json.loads(out.read_text())
    rates = [found[str(ranks)]["tokens_per_second"] for ranks in (1, args.ranks)]
    return {**found, "times_as_fast": round(rates[1] / rates[0], 3)}


if __name__ == "__main__":
    main()
