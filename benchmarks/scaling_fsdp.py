"""The arms of `scaling.py` on a decoder that does not fit on one card: `parallel: {kind: fsdp}` (FSDP2).

The model has the shape of Mistral 7B: 32 layers, 4,096 wide, 32 heads, 8 for keys and values, feed-forward 14,336,
input and output matrices apart. Its vocabulary is smaller, 8,000 pieces, which is what the text of `trimtab demo`
gives: 7.04 billion weights. PyTorch's allocator is capped on each GPU (`--cap-gib`), so that a card never has more in
use than the 80 GB of an H100 (79.2 GiB by its driver); what nvidia-smi shows is recorded beside it, as the cap leaves
out CUDA's and NCCL's own memory.

Operations of a token: 6 for each weight that multiplies; those of attention itself, under 1% at these lengths, and
those that are computed twice (`recompute: block`) are left out.
"""

import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from scaling_runs import cards_watched, finished, lines, memory_of, peaks, recipe_file, tail, thinned

CARD_GIB = 79.2
"""What a card of 80 GB has by its driver."""
DATA_SHEET = 989e12
"""Operations a second of an H100 or H200 in dense bfloat16."""
SHAPE = {
    "kind": "decoder",
    "dim": 4096,
    "heads": 32,
    "kv_heads": 8,
    "feed_forward": 14336,
    "tie_embeddings": False,
    "init_on": "gpu",
}
PIECES = 8000


def changes_of(args, **more):
    """The recipe of every arm: without checkpoints, each of which would be 84 GB."""
    return {
        "model": {**SHAPE, "layers": args.decoder_layers},
        "data.max_tokens": args.length,
        "data.workers": 2,
        "step.tokens_per_step": args.ranks * args.decoder_micro,
        "step.tokens_per_micro_batch": args.decoder_micro,
        "step.precision": "fp32" if args.tiny else "bf16_mixed",
        "step.recompute": args.recompute,
        "step.compile": "off",
        "step.cuda_graph": "off",
        "step.optimizer": {"kind": "adamw", "learning_rate": 2e-4, "betas": [0.9, 0.95], "weight_decay": 0.1},
        "step.clip": {"kind": "global_norm", "at": 1.0},
        "length": "24 steps" if args.tiny else "40 steps",
        "evaluate.every": "24 steps" if args.tiny else "40 steps",
        "evaluate.samples": 2,
        "checkpoint.write": False,
        **more,
    }


def fsdp(args):
    """Trains on all GPUs, each of them capped."""
    products = products_a_second(args)
    return {"products_of_one_gpu_tflops": products, **trained(args, "divided", changes_of(args), products)}


def fsdp_compiled(args):
    """The same with compiled layers."""
    products = products_a_second(args)
    return trained(args, "compiled", changes_of(args, **{"step.compile": "on"}), products)


def trained(args, name, changes, products):
    """A run on capped GPUs with what it measured."""
    recipe = recipe_file(args, name, {**changes, "parallel": {"kind": "fsdp"}}, task="language_model")
    with cards_watched() as climbs:
        out, seconds, _ = finished(args, name, recipe, ranks=args.ranks, cap_gib=args.cap_gib)
    found, log = lines(out), (args.folder / f"{name}.log").read_text(errors="replace")
    described = re.findall(r"([\d.]+)M parameters[^\n]*", log)
    rate = rate_of(found)
    operations = 6 * (float(described[0]) * 1e6 - PIECES * SHAPE["dim"]) * rate
    return {
        "cap_gib": args.cap_gib,
        "recipe": changes,
        "parameters_in_millions": described[:1],
        "started": re.findall(r"started in [^\n]*", log)[:1],
        "losses": [round(line["loss"], 4) for line in found],
        "grad_norms": [round(line["grad_norm"], 3) for line in found][::5],
        "skipped_steps": sum(line["skipped"] for line in found),
        "evaluations": json_lines(out / "evaluations.jsonl"),
        "tokens_per_second": round(rate),
        **(shares(operations / args.ranks, products) if products else {}),
        "memory_of_ranks": memory_of(args, name),
        "nvidia_smi_peak_gib": peaks(climbs),
        **({"below_80_gb_on_each_card": max(peaks(climbs).values()) < CARD_GIB} if climbs else {}),
        "seconds": round(seconds, 1),
    }


def shares(operations, products):
    """Of the operations a second that one GPU has by its data sheet, and in the model's largest product."""
    return {
        "tflops_of_each_gpu": round(operations / 1e12, 1),
        "share_of_data_sheet": round(operations / DATA_SHEET, 3),
        "share_of_products": round(operations / 1e12 / products, 3),
    }


def rate_of(found):
    """Tokens a second from the tenth step to the last one; on a GPU the clock is read with every tenth."""
    first = found[9] if len(found) > 10 else found[0]
    tokens = sum(line["tokens"] for line in found if line["step"] > first["step"])
    return tokens / max(1e-9, found[-1]["seconds"] - first["seconds"])


def json_lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def fsdp_one_card(args):
    """One capped GPU must run out of memory. Beside it, on another GPU, a decoder of four such layers trains whole, and
    afterwards divided on all: the same losses but for rounding."""
    recipe = recipe_file(args, "whole", changes_of(args), task="language_model")
    few = changes_of(args, model={**SHAPE, "layers": 4})
    alone = recipe_file(args, "few", few, task="language_model")
    with cards_watched() as climbs, ThreadPoolExecutor(2) as pool:
        capped = pool.submit(
            finished, args, "capped", recipe, ranks=1, must=False, cap_gib=args.cap_gib, gpu=0
        )
        whole = pool.submit(
            finished, args, "few", alone, ranks=1, must=False, gpu=args.ranks - 1 if args.cuda else 0
        )
        (_, seconds, code), (out, _, code_of_few) = capped.result(), whole.result()
    found = {
        "cap_gib": args.cap_gib,
        "exit_code": code,
        "seconds": round(seconds, 1),
        "said": re.findall(r"[^\n]*memory[^\n]*", tail(args, "capped"))[:6],
        "memory": memory_of(args, "capped"),
        "nvidia_smi_seconds_and_gib": thinned(climbs.get("0", [])),
    }
    if code_of_few:
        return {**found, "four_layers": {"failed": tail(args, "few")[-800:]}}
    return {**found, "four_layers": few_layers(args, few, out)}


def few_layers(args, changes, alone):
    """The losses of a smaller decoder on one GPU and on all."""
    recipe = recipe_file(
        args, "few_divided", {**changes, "parallel": {"kind": "fsdp"}}, task="language_model"
    )
    out, _, code = finished(args, "few_divided", recipe, ranks=args.ranks, must=False)
    if code:
        return {"failed": tail(args, "few_divided")[-800:]}
    pairs = [*zip(lines(alone), lines(out), strict=True)]
    return {
        "steps": len(pairs),
        "losses_of_one_gpu": [round(a["loss"], 4) for a, _ in pairs][::5],
        "losses_of_all": [round(b["loss"], 4) for _, b in pairs][::5],
        "largest_difference_of_losses": max(abs(a["loss"] - b["loss"]) for a, b in pairs),
        "largest_relative_difference_of_norms": max(
            abs(a["grad_norm"] / b["grad_norm"] - 1) for a, b in pairs
        ),
        "tokens_per_second": [round(rate_of(lines(each))) for each in (alone, out)],
    }


def products_a_second(args):
    """Operations a second, in 10^12, of the model's largest product on one GPU; measured once."""
    if not (args.folder / "products.json").exists():
        child(args, "products", "--products", ranks=1)
    return json.loads((args.folder / "products.json").read_text())["tflops"]


def fsdp_peer(args):
    """Mistral of transformers at the same shape under PyTorch's `fully_shard`: same precisions, tokens and memory."""
    return child(args, "peer", ranks=args.ranks)


def child(args, name, *more, ranks):
    """What `scaling_fsdp_peer.py` found on so many GPUs."""
    out = args.folder / f"{name}.json"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    if not args.cuda:
        environment["CUDA_VISIBLE_DEVICES"] = ""
    command = [
        sys.executable,
        *("-m", "torch.distributed.run", "--standalone", "--local-addr", "127.0.0.1"),
        *("--nproc-per-node", str(ranks), str(Path(__file__).parent / "scaling_fsdp_peer.py")),
        *("--out", str(out), "--cap-gib", str(args.cap_gib), "--layers", str(args.decoder_layers)),
        *("--micro", str(args.decoder_micro), "--length", str(args.length), "--recompute", args.recompute),
        *more,
        *(["--tiny"] if args.tiny else []),
    ]
    with cards_watched() as climbs:
        ended = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=1500 if args.tiny else 170
        )
    if ended.returncode:
        raise RuntimeError(f"{name} ended with {ended.returncode}: {ended.stderr[-1500:]}")
    return {**json.loads(out.read_text()), "nvidia_smi_peak_gib": peaks(climbs)}


def fsdp_adapter(args):
    """LoRA on a frozen model of the same shape with random weights, which is read from files as a pretrained one is."""
    child(args, "base", "--write", str(args.folder / "base"), ranks=1)
    changes = changes_of(
        args,
        **{
            "model": {"kind": "pretrained", "path": str(args.folder / "base"), "init_on": "gpu"},
            "data.tokenizer": {"kind": "pretrained", "path": str(args.folder / "base")},
            "adapter": {"kind": "lora", "rank": 16},
        },
    )
    return trained(args, "adapter", changes, None)
