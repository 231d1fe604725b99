"""What each setting of `trimtab fit` that saves memory does to the loss: one run a setting, beside the noise of seeds.

    python benchmarks/rung_quality.py DATA --out results/rung_quality.json                # one GPU, under 9 minutes
    python benchmarks/rung_quality.py DATA --size 124M --parallel 3 --out results/q.json  # the larger decoder
    python benchmarks/rung_quality.py DATA --size tiny --out tiny.json                    # tries it on a CPU

DATA is a folder with `train.txt.xz` and `dev.txt.xz`, or the same without `.xz`: text, a paragraph a line, an empty
line between documents. Runs of one seed see the same steps in the same order. The floor is AdamW in float32 with three
seeds; a setting is within the noise if its loss lies in the 95% interval for one more run of the floor (Student's t
with two degrees of freedom, so a wide one). Runs share the card, a few at a time: speeds are of a card that is shared,
losses and bytes are not touched by that. What the file already has is not trained again, so a second call finishes what
the first had no time for. `PREDICTED` was written before the first run.
"""

import argparse
import json
import lzma
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

T_TWO = 4.303
"""Student's t, two degrees of freedom, two-sided 95%."""
SIZES = {
    "30M": {"dim": 512, "heads": 8, "layers": 8, "feed_forward": 1408},
    "124M": {"dim": 768, "heads": 12, "layers": 12, "feed_forward": 2048},
    "tiny": {"dim": 64, "heads": 2, "layers": 2, "feed_forward": 128},
}
VOCABULARY = {"30M": 16000, "124M": 32000, "tiny": 600}
RELEASED = {"gradients": "released"}
FLOOR = "AdamW, float32"
ADAMW = {"kind": "adamw", "learning_rate": 1.0e-3, "betas": [0.9, 0.95], "weight_decay": 0.1}
RUNGS = {
    "bf16_mixed": {},
    "recompute feed_forward": {"recompute": "feed_forward"},
    "recompute block": {"recompute": "block"},
    "gradients released": RELEASED,
    "states on the host": {"offload": "optimizer_states"},
    "bf16 weights": {"precision": "bf16"},
    "states bfloat16": {"optimizer": {**ADAMW, "states": "bfloat16"}},
    "states 8bit": {"optimizer": {**ADAMW, "states": "8bit"}},
    "states 4bit": {"optimizer": {**ADAMW, "states": "4bit"}},
    "bf16 weights, states 8bit": {"precision": "bf16", "optimizer": {**ADAMW, "states": "8bit"}},
    "24bit weights, states 8bit": {
        "precision": "bf16",
        "optimizer": {**ADAMW, "states": "8bit", "weights": "24bit"},
    },
    "bf16 weights, states 4bit": {"precision": "bf16", "optimizer": {**ADAMW, "states": "4bit"}},
    "bf16 weights, states 4bit, stable_adamw, released": {
        **RELEASED,
        "precision": "bf16",
        "clip": {"kind": "off"},
        "optimizer": {**ADAMW, "kind": "stable_adamw", "states": "4bit"},
    },
    "bf16 weights, states 8bit, eps 1e-4": {
        "precision": "bf16",
        "optimizer": {**ADAMW, "states": "8bit", "eps": 1.0e-4},
    },
    "adafactor": {"optimizer": {"kind": "adafactor", "learning_rate": 1.0e-3, "weight_decay": 0.1}},
    "lion": {"optimizer": {"kind": "lion", "learning_rate": 1.5e-4, "weight_decay": 0.6}},
}
PREDICTED = {
    "bf16_mixed": "within the noise",
    "recompute feed_forward": "the loss of bf16_mixed to the last digit",
    "recompute block": "the loss of bf16_mixed to the last digit",
    "gradients released": "within 0.002 of bf16_mixed: the same updates, kernels launched one by one",
    "states on the host": "within 0.002 of bf16_mixed: the same updates, not recorded",
    "bf16 weights": "0.00 to 0.02 above the floor",
    "states bfloat16": "within the noise",
    "states 8bit": "within the noise",
    "states 4bit": "0.00 to 0.03 above the floor",
    "bf16 weights, states 8bit": "0.00 to 0.02 above the floor",
    "24bit weights, states 8bit": "within the noise",
    "bf16 weights, states 4bit": "0.00 to 0.05 above the floor",
    "bf16 weights, states 4bit, stable_adamw, released": "0.00 to 0.06 above the floor",
    "bf16 weights, states 8bit, eps 1e-4": "0.05 or more above the floor: most updates become smaller",
    "adafactor": "0.00 to 0.10 above the floor, with a learning rate that was not searched",
    "lion": "0.00 to 0.10 above the floor, with a learning rate that was not searched",
}
"""Validation loss in nats per token after one epoch, written before the first run."""


def recipe_of(rung, folder, *, size, seed, epochs, floor):
    """The recipe of a run."""
    tiny = size == "tiny"
    tokens = 512 if tiny else 16384
    step = {
        "tokens_per_step": tokens,
        "tokens_per_micro_batch": tokens,
        "precision": "bf16_mixed",
        "optimizer": ADAMW,
        "schedule": {"kind": "cosine", "warmup": "2 steps" if tiny else "100 steps"},
        "clip": {"kind": "global_norm", "at": 1.0},
        **({"precision": floor} if rung == FLOOR else RUNGS[rung]),
    }
    if tiny and step["precision"] == "bf16_mixed":
        step["precision"] = "fp32"  # mixed precision is for GPUs
    length = "6 steps" if tiny else f"{epochs} epochs"
    return {
        "task": "language_model",
        "data": {
            "train": [{"text": str(folder / "train.txt")}],
            "valid": {"text": str(folder / "dev.txt")},
            "tokenizer": {"kind": "sentencepiece", "path": str(folder / "pieces" / "tokenizer.model")},
            "max_tokens": 64 if tiny else 512,
            "workers": 0 if tiny else 2,
        },
        "model": {"kind": "decoder", "dropout": 0.0, "qk_norm": True, **SIZES[size]},
        "step": step,
        "length": length,
        "evaluate": {"every": length},
        "checkpoint": {"write": False},
        "seed": seed,
    }


def prepared(data, folder, *, size):
    """The text without compression, and pieces that all runs share."""
    for name in ("train", "dev"):
        packed, plain = data / f"{name}.txt.xz", data / f"{name}.txt"
        if packed.is_file():
            text = lzma.decompress(packed.read_bytes()).decode("utf-8")
        elif plain.is_file():
            text = plain.read_text(encoding="utf-8")
        else:
            sys.exit(f"{data}: has neither {packed.name} nor {plain.name}")
        text = text[: 60_000 if name == "train" else 4_000] if size == "tiny" else text
        (folder / f"{name}.txt").write_text(text, encoding="utf-8")
    import sentencepiece

    (folder / "pieces").mkdir()
    sentencepiece.SentencePieceTrainer.train(
        input=str(folder / "train.txt"),
        model_prefix=str(folder / "pieces" / "tokenizer"),
        vocab_size=VOCABULARY[size],
        byte_fallback=True,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        add_dummy_prefix=False,
        pad_id=0,
        unk_id=1,
        bos_id=2,
        eos_id=3,
        input_sentence_size=200_000,
        max_sentence_length=20_000,
        minloglevel=2,
    )


def one(given):
    """Trains one run and says what it saw on its last line."""
    import torch

    import trimtab
    from trimtab.checkpoint.journal import read_journal

    folder, began = Path(given["folder"]), time.perf_counter()
    recipe = recipe_of(
        given["rung"],
        folder,
        size=given["size"],
        seed=given["seed"],
        epochs=given["epochs"],
        floor=given["floor"],
    )
    out, failure = folder / f"run-{given['number']}", None
    try:
        trimtab.train(recipe, out=out)
    except Exception as error:  # of any kind: the other runs go on
        failure = f"{type(error).__name__}: {error}"[:1500]
        traceback.print_exc()
    evaluations = [*read_journal(out / "evaluations.jsonl")] if out.is_dir() else []
    steps = [*read_journal(out / "metrics.jsonl")] if out.is_dir() else []
    speeds = [line["tokens_per_second"] for line in steps if line.get("tokens_per_second")]
    found = {
        "rung": given["rung"],
        "seed": given["seed"],
        "failure": failure,
        "loss": evaluations[-1].get("loss") if evaluations else None,
        "steps": len(steps),
        "skipped": sum(bool(line.get("skipped")) for line in steps),
        "tokens_per_second": round(statistics.median(speeds)) if speeds else None,
        "seconds": round(time.perf_counter() - began, 1),
    }
    if torch.cuda.is_available():
        found["allocated_gib"] = round(torch.cuda.max_memory_allocated() / 2**30, 3)
    print("RESULT " + json.dumps(found), flush=True)


def runs_of(only):
    """Which runs there are, the floor first."""
    floor = [(FLOOR, seed) for seed in (1, 2, 3)]
    return floor + [(rung, 1) for rung in RUNGS if only is None or only in rung]


def trained(runs, given, *, parallel, gpus, seconds):
    """The results, some runs at a time on each GPU, and which did not begin before the time was over."""
    began, waiting, going, found = time.perf_counter(), list(enumerate(runs)), [], []
    while waiting or going:
        late = time.perf_counter() - began > seconds
        while waiting and len(going) < parallel * len(gpus) and not late:
            number, (rung, seed) = waiting.pop(0)
            task = json.dumps({**given, "rung": rung, "seed": seed, "number": number})
            command = [sys.executable, __file__, "--child", task]
            gpu = min(gpus, key=[each[2] for each in going].count)
            environment = {**os.environ, "OMP_NUM_THREADS": "2", "CUDA_VISIBLE_DEVICES": gpu}
            process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
            going.append((rung, seed, gpu, process))
        for each in list(going):
            rung, seed, _, process = each
            if process.poll() is None and late:
                process.terminate()
            if process.poll() is not None:
                going.remove(each)
                lines = [line for line in process.stdout.read().splitlines() if line.startswith("RESULT ")]
                result = {"rung": rung, "seed": seed, "failure": f"exit code {process.returncode}"}
                found.append(json.loads(lines[-1].removeprefix("RESULT ")) if lines else result)
                print(json.dumps(found[-1]), flush=True)
        if late and waiting:
            found += [{"rung": rung, "seed": seed, "failure": "not begun"} for _, (rung, seed) in waiting]
            waiting = []
        time.sleep(0.2)
    return found


def trained_before(given):
    """Runs with a loss in the file that is written again; it must be of the same size, length and floor."""
    if given.out is None or not given.out.is_file():
        return []
    told = json.loads(given.out.read_text(encoding="utf-8"))
    same = (told["size"], told["epochs"], told["floor_products"]) == (given.size, given.epochs, given.floor)
    if not same:
        sys.exit(f"{given.out}: is of another size, length or floor")
    return [each for each in told["runs"] if each.get("loss") is not None]


def verdicts(found):
    """Each rung beside the floor."""
    losses = [each["loss"] for each in found if each["rung"] == FLOOR and each.get("loss") is not None]
    if len(losses) < 2:
        return None, []
    mean, deviation = statistics.mean(losses), statistics.stdev(losses)
    t = T_TWO if len(losses) == 3 else 12.706
    half = t * deviation * math.sqrt(1 + 1 / len(losses))
    floor = {"losses": losses, "mean": mean, "deviation": deviation, "half_interval_of_one_more": half}
    rows = []
    for each in found:
        if each["rung"] != FLOOR and each.get("loss") is not None:
            apart = each["loss"] - mean
            rows.append(
                {
                    "rung": each["rung"],
                    "loss": each["loss"],
                    "above_floor": apart,
                    "within_noise": abs(apart) <= half,
                    "predicted": PREDICTED[each["rung"]],
                    "allocated_gib": each.get("allocated_gib"),
                }
            )
    return floor, rows


def about():
    """The machine and the versions."""
    import platform
    from importlib.metadata import version

    import torch

    on_gpu = torch.cuda.is_available()
    return {
        "device": torch.cuda.get_device_name() if on_gpu else platform.processor() or "CPU",
        "torch": version("torch"),
    }


def main():
    """Parses the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, nargs="?", help="folder with train.txt.xz and dev.txt.xz")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--size", choices=SIZES, default="30M")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--floor", choices=("fp32", "tf32"), default="fp32", help="products of the floor")
    parser.add_argument("--parallel", type=int, default=5, help="runs at a time on each GPU")
    shown = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")
    parser.add_argument("--gpus", nargs="+", default=shown, help="numbers of the GPUs that the runs share")
    parser.add_argument("--seconds", type=float, default=500.0, help="when to end what still runs")
    parser.add_argument("--only", help="rungs whose name holds this, beside the floor")
    parser.add_argument("--child")
    given = parser.parse_args()
    if given.child:
        one(json.loads(given.child))
        return
    if given.data is None:
        parser.error("DATA is missing")
    began = time.perf_counter()
    known = trained_before(given)
    missing = [
        run for run in runs_of(given.only) if run not in {(each["rung"], each["seed"]) for each in known}
    ]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepared(given.data, folder, size=given.size)
        task = {"folder": name, "size": given.size, "epochs": given.epochs, "floor": given.floor}
        left = given.seconds - (time.perf_counter() - began)
        found = known + trained(missing, task, parallel=given.parallel, gpus=given.gpus, seconds=left)
    floor, rows = verdicts(found)
    result = {**about(), "size": given.size, "epochs": given.epochs, "floor_products": given.floor}
    result |= {"floor": floor, "rungs": rows, "runs": found}
    for row in rows:
        print(f"{row['above_floor']:+.4f}  {'within' if row['within_noise'] else 'apart '}  {row['rung']}")
    if given.out:
        given.out.parent.mkdir(parents=True, exist_ok=True)
        given.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
