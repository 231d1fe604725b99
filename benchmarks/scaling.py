"""What several GPUs of one host give: speed, equal losses, a run that survives a killed rank, a larger model.

    python benchmarks/scaling.py --out scaling.json                   # two GPUs, under 6 minutes
    python benchmarks/scaling.py --out scaling.json --limit 550 --decoder-layers 48 --cap-gib 34   # a larger decoder
    python benchmarks/scaling.py --out tiny.json --tiny               # tries everything on a CPU, with Gloo

The runs are those of `torchrun -m trimtab train`, on the text of `trimtab demo`, three pairs of it in a line.

- `speed`: the big preset at 131,072 target tokens a step on one GPU and on two: real source and target tokens a second
  over `--seconds` of training, the first steps (compiling, recording) left out. Both learn from the same steps.
- `losses`: a small model for 40 steps on one GPU and on two, in float32 without dropout: the largest difference.
- `killed`: the same in half precision with deterministic kernels and dropout, on two; a rank is killed, the others must
  end within 15 s and name it, the run resumes, and ends with the weights of an undisturbed one.
- `fsdp`: a decoder on one GPU with memory capped at `--cap-gib`, where it must run out of memory, and with
  `parallel: {kind: fsdp}` on two capped GPUs.
- `mixed`: the losses of the small model in bfloat16, where steps are recorded.
- `ddp`: an encoder-decoder of the same size in Hugging Face transformers (Marian) under DistributedDataParallel, with
  bfloat16 autocast and fused AdamW, padded rows of equal length: tokens a second on one GPU and on two.

Arms that `--limit` has no time for are left out, and named.
"""

import argparse
import hashlib
import json
import lzma
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parent.parent
DEMO = ROOT / "src" / "trimtab" / "demo" / "data"
JOINED = 3
"""Pairs of the demo that become one."""
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
    if args.worker:
        worker(args)
        return
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
            "fsdp": (fsdp, 80),
            "ddp": (ddp, 60),
            "mixed": (mixed, 50),
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
    parser.add_argument("--arms", default="speed,losses,killed,fsdp,ddp,mixed")
    parser.add_argument("--micro", type=int, default=16384, help="target tokens of a micro-batch")
    parser.add_argument("--decoder-layers", type=int, default=12)
    parser.add_argument("--cap-gib", type=float, default=7.5)
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--worker", nargs=argparse.REMAINDER, default=[], help=argparse.SUPPRESS)
    return parser.parse_args()


# Runs


def write_text(args):
    """The demo's pairs, some of them in one line, as plain files."""
    for name in ("train", "valid"):
        with lzma.open(DEMO / f"{name}.tsv.xz", "rt", encoding="utf-8") as file:
            pairs = [line.rstrip("\n").split("\t")[:2] for line in file]
        pairs = pairs[: 300 if args.tiny else None]
        lines = [pairs[i : i + JOINED] for i in range(0, len(pairs) - JOINED + 1, JOINED)]
        for side, end in ((0, "en"), (1, "de")):
            text = "".join(" ".join(pair[side] for pair in line) + "\n" for line in lines)
            (args.folder / f"{name}.{end}").write_text(text, encoding="utf-8")


def recipe_file(args, name, changes, *, task="translation"):
    """A recipe with dotted changes."""
    texts = {"source": "train.en", "target": "train.de"}, {"source": "valid.en", "target": "valid.de"}
    if task == "language_model":
        texts = {"text": "train.en"}, {"text": "valid.en"}
    tree = {
        "task": task,
        "data": {
            "train": [texts[0]],
            "valid": texts[1],
            "tokenizer": {"vocabulary_size": 600 if args.tiny else 8000},
            "max_tokens": 128,
        },
        "step": {"schedule": {"kind": "linear_warmup", "warmup": "10 steps"}},
        "evaluate": {"metrics": ["chrf"], "lines": 20} if task == "translation" else {},
        "checkpoint": {"keep": 1},
    }
    if args.tiny:
        changes = {**changes, **TINY}
        if task == "language_model":
            changes["model"] = {"kind": "decoder", "dim": 32, "heads": 2, "layers": 1, "feed_forward": 64}
    for key, value in changes.items():
        place = tree
        *above, last = key.split(".")
        for each in above:
            place = place.setdefault(each, {})
        place[last] = value
    path = args.folder / f"{name}.yaml"
    path.write_text(json.dumps(tree))
    return path


TINY = {
    "model": {"kind": "encoder_decoder", "dim": 32, "heads": 2, "layers": 1, "feed_forward": 64},
    "step.tokens_per_step": 1024,
    "step.tokens_per_micro_batch": 512,
    "step.compile": "off",
    "data.workers": 0,
}


def begin(args, name, recipe, *more, ranks, cap_gib=None, gpu=0):
    """A run that has begun, its output in a file beside it."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), *sys.path])}
    environment.setdefault("OMP_NUM_THREADS", "1" if args.tiny else "4")
    environment["TRIMTAB_CACHE"] = str(args.folder / "cache")
    for key in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
        environment.pop(key, None)
    if not args.cuda:
        environment["CUDA_VISIBLE_DEVICES"] = ""
    elif ranks == 1:
        environment["CUDA_VISIBLE_DEVICES"] = str(gpu)
    program = [str(Path(__file__).resolve()), "--worker", str(cap_gib or 0)]
    launcher = [sys.executable]
    if ranks > 1:
        launcher += ["-m", "torch.distributed.run", "--standalone"]
        launcher += ["--local-addr", "127.0.0.1", "--nproc-per-node", str(ranks)]
    out = args.folder / name
    command = [*launcher, *program, "train", str(recipe), "--out", str(out), *more]
    log = open(args.folder / f"{name}.log", "a")  # noqa: SIM115
    return subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT), out


def finished(args, name, recipe, *more, ranks, must=True, **where):
    """The folder of a run that has ended, and the seconds that it took in all."""
    begun = time.perf_counter()
    process, out = begin(args, name, recipe, *more, ranks=ranks, **where)
    code = process.wait(timeout=3000 if args.tiny else 300)
    if must and code:
        raise RuntimeError(f"{name} ended with {code}: {said_by_ranks(args, name)}")
    return out, time.perf_counter() - begun, code


def worker(args):
    """A rank of a run: the command line of trimtab, with the memory of its GPU capped."""
    cap, *command = args.worker
    if float(cap):
        import torch

        if torch.cuda.is_available():
            number = int(os.environ.get("LOCAL_RANK", 0))
            whole = torch.cuda.get_device_properties(number).total_memory
            torch.cuda.set_per_process_memory_fraction(float(cap) * 2**30 / whole, number)
    from trimtab.cli.main import main as trimtab

    sys.argv = ["trimtab", *command]
    trimtab()


def tail(args, name):
    return (args.folder / f"{name}.log").read_text(errors="replace")[-1500:]


def said_by_ranks(args, name):
    """The exit codes of the ranks and the end of what they said themselves, for a record keeps 1,000 characters and
    torchrun's own traceback, which comes last, is longer. All of the output is printed, for the log of the job."""
    log = (args.folder / f"{name}.log").read_text(errors="replace")
    print(f"--- output of {name}\n{log[-20_000:]}\n--- end of output of {name}", flush=True)
    codes = re.findall(r"exitcode *: (-?\d+)", log)
    own, found, _ = log.partition('Traceback (most recent call last):\n  File "<frozen runpy>')
    spoken = [line for line in (own if found else log).splitlines() if not re.match(r"[EWI]\d{4} ", line)]
    return f"ranks ended with {', '.join(codes) or 'no code'}: {chr(10).join(spoken).strip()[-800:]}"


def lines(out):
    path = out / "metrics.jsonl"
    return (
        [json.loads(line) for line in path.read_text().splitlines() if line.endswith("}")]
        if path.exists()
        else []
    )


def digest(out):
    newest = max((out / "checkpoints").glob("step-*"))
    return hashlib.sha256((newest / "model.safetensors").read_bytes()).hexdigest()


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


def end(process, *, ranks):
    """Ends a run that would train for ever, without the checkpoint that a signal would have it write."""
    if process.poll() is not None:
        return
    for rank in range(ranks) if ranks > 1 else ():
        try:
            os.kill(process_of_rank(process.pid, rank), signal.SIGKILL)
        except (RuntimeError, ProcessLookupError):
            continue
    if ranks == 1:
        process.kill()
    try:
        process.wait(timeout=40)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


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


def process_of_rank(launcher, rank):
    """The process of a rank, among the children of torchrun."""
    for folder in Path("/proc").iterdir():
        if not folder.name.isdecimal():
            continue
        try:
            parent = (folder / "stat").read_text().rpartition(")")[2].split()[1]
            environment = (folder / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if int(parent) == launcher and f"RANK={rank}".encode() in environment:
            return int(folder.name)
    raise RuntimeError("the rank is not there")


def fsdp(args):
    """A decoder that does not fit on one capped GPU."""
    changes = {
        "model": {
            "kind": "decoder",
            "dim": 2048,
            "heads": 16,
            "layers": args.decoder_layers,
            "feed_forward": 5504,
        },
        "data.max_tokens": 128,
        "step.tokens_per_step": 16384,
        "step.tokens_per_micro_batch": 2048,
        "step.compile": "off",
        "step.cuda_graph": "off",
        "length": "16 steps",
        "evaluate.every": "16 steps",
        "checkpoint.every": "16 steps",
    }
    whole = recipe_file(args, "whole", changes, task="language_model")
    divided = recipe_file(args, "divided", {**changes, "parallel": {"kind": "fsdp"}}, task="language_model")
    # Uncapped beside it, on the other GPU, for the losses.
    with ThreadPoolExecutor(2) as pool:
        capped = pool.submit(
            finished, args, "capped1", whole, ranks=1, must=False, cap_gib=args.cap_gib, gpu=0
        )
        free = pool.submit(finished, args, "free1", whole, ranks=1, gpu=1 if args.cuda else 0)
        _, _, code = capped.result()
        alone = free.result()[0]
    out, seconds, _ = finished(args, "divided", divided, ranks=args.ranks, cap_gib=args.cap_gib)
    pairs = [*zip(lines(alone), lines(out), strict=True)]
    log, said = (args.folder / "divided.log").read_text(), tail(args, "capped1")
    return {
        "cap_gib": args.cap_gib,
        "layers": args.decoder_layers,
        "described": re.findall(r"[\d.]+M parameters", log)[:1],
        "memory": re.findall(r"memory: [^\n]*reserved at the peak, [^\n]*", log),
        "one_capped_gpu": {"exit_code": code, "said": re.findall(r"[^\n]*memory[^\n]*", said)[:4]},
        "losses": [b["loss"] for _, b in pairs][::5],
        "losses_of_one_uncapped_gpu": [a["loss"] for a, _ in pairs][::5],
        "largest_difference_of_losses": max(abs(a["loss"] - b["loss"]) for a, b in pairs),
        "tokens_per_second": lines(out)[-1]["tokens_per_second"],
        "seconds": round(seconds, 1),
        "checkpoint_bytes": sum(
            each.stat().st_size for each in max((out / "checkpoints").glob("step-*")).iterdir()
        ),
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
