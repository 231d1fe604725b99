"""The largest models that the rungs of `trimtab fit` let one GPU train, all parameters: `trimtab train` on real text.

    python benchmarks/memory_ladder.py --out results/memory_ladder.json      # one H200; cases left out are named
    python benchmarks/memory_ladder.py --only 24B 40B --out results/memory_ladder.json   # these anew, the others stay
    python benchmarks/memory_ladder.py --tiny --out tiny.json                # tries it on a CPU, with tiny sizes

Each case is a run of its own process, in the order of what it is worth, until the time is over. A card of 80 GB or
24 GB is imitated by a limit on PyTorch's allocator, which leaves room for CUDA's own memory; what counts is what the
driver says for the whole GPU, looked at five times a second. Weights are random, the text is the sample that comes with
the package, pieces are trained on it, and rows of the vocabulary that have no piece are there in full.
Operations are 6 for each weight but those of the input embeddings, and causal attention; nothing that is computed again
or a second time counts.
"""

import argparse
import json
import lzma
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from pathlib import Path

DATA = Path(__file__).parents[1] / "src/trimtab/demo/data"
LIMITS = {"80 GB": 79.2, "24 GB": 23.6, "whole card": 139.0}
"""GiB that a card of this size reports as its total."""
OF_CUDA = 0.85
"""GiB that the allocator may not have: CUDA's context, kernels and libraries."""
GEMM_TERAFLOPS = 790.0
"""Of a product of 8,192 by 8,192 in bfloat16 on an H200."""
QWEN_14B = {"dim": 5120, "heads": 40, "kv_heads": 8, "layers": 48, "feed_forward": 13824, "bias": "qkv"}
QWEN_4B = {"dim": 2560, "heads": 32, "head_size": 128, "kv_heads": 8, "layers": 36, "feed_forward": 9728}
LLAMA_7B = {"dim": 4096, "heads": 32, "layers": 32, "feed_forward": 11008}
WIDE_24B = {"dim": 6144, "heads": 48, "kv_heads": 8, "layers": 52, "feed_forward": 19456}
WIDE = {"dim": 6656, "heads": 52, "kv_heads": 13, "feed_forward": 21504}
WIDE_30B, WIDE_39B, WIDE_40B = ({**WIDE, "layers": layers} for layers in (56, 72, 74))
EXACT, OFF = {"kind": "global_norm", "at": 1.0}, {"kind": "off"}


def case(
    card,
    model,
    vocabulary,
    tokens,
    steps,
    *,
    kind="adamw",
    states,
    clip,
    tied=False,
    weights="as_stored",
    offload="none",
    **more,
):
    """A recipe and the card that it has to fit on."""
    return card, {
        "task": "language_model",
        "data": {
            "train": [{"text": "train.txt"}],
            "valid": {"text": "valid.txt"},
            "tokenizer": {"kind": "pretrained", "path": "pieces", "vocabulary_size": vocabulary},
            "max_tokens": 1024,
            "workers": 0,
        },
        "model": {
            "kind": "decoder",
            "init_on": "gpu",
            "dropout": 0.0,
            "tie_embeddings": tied,
            **model,
            **more,
        },
        "step": {
            "tokens_per_step": tokens,
            "tokens_per_micro_batch": tokens,
            "precision": "bf16",
            "recompute": "block",
            "gradients": "released",
            "offload": offload,
            "clip": clip,
            "compile": "off",
            "optimizer": {
                "kind": kind,
                "states": states,
                "weights": weights,
                "learning_rate": 2.0e-4,
                "betas": [0.9, 0.95],
            },
            "schedule": {"kind": "linear_warmup", "warmup": "5 steps"},
        },
        "length": f"{steps} steps",
        "evaluate": {"every": f"{steps} steps"},
        "checkpoint": {"write": False},
    }


UPDATES = {"kind": "stable_adamw", "states": "4bit", "clip": OFF}
CASES = {
    "24B, 4-bit states, update clipping": case("80 GB", WIDE_24B, 32000, 6144, 50, **UPDATES),
    "40B, 4-bit states, update clipping": case("whole card", WIDE_40B, 32000, 4096, 50, **UPDATES),
    "14.8B, 8-bit states, exact clipping": case(
        "80 GB", QWEN_14B, 151936, 4096, 50, states="8bit", clip=EXACT
    ),
    "4.0B, 8,192 tokens, 8-bit states, exact clipping": case(
        "24 GB", QWEN_4B, 151936, 8192, 50, states="8bit", clip=EXACT, tied=True, qk_norm=True
    ),
    "6.7B, 3,072 tokens, 4-bit states, exact clipping": case(
        "24 GB", LLAMA_7B, 32000, 3072, 50, states="4bit", clip=EXACT
    ),
    "30B, 4-bit states in host memory, update clipping": case(
        "80 GB", WIDE_30B, 32000, 8192, 50, offload="optimizer_states", **UPDATES
    ),
    "6.7B, 4-bit states, exact clipping": case("24 GB", LLAMA_7B, 32000, 2048, 50, states="4bit", clip=EXACT),
    "39B, 4-bit states, update clipping": case("whole card", WIDE_39B, 32000, 4096, 24, **UPDATES),
    "14.8B, 24-bit weights, 8-bit states, exact clipping": case(
        "80 GB", QWEN_14B, 151936, 4096, 30, states="8bit", weights="24bit", clip=EXACT
    ),
    "4.0B, 8-bit states, exact clipping": case(
        "24 GB", QWEN_4B, 151936, 4096, 40, states="8bit", clip=EXACT, tied=True, qk_norm=True
    ),
}
CHECK = "kernel of the optimizer"
"""Run before all others: whether the kernel works, and how fast it is."""


def tiny(tree):
    """The same recipe in sizes that a CPU steps through in a second."""
    sizes = {"dim": 64, "heads": 4, "layers": 2, "feed_forward": 160}
    kept = {key: value for key, value in tree["model"].items() if key not in ("kv_heads", "head_size")}
    tokenizer = {**tree["data"]["tokenizer"], "vocabulary_size": 2048}
    step = {**tree["step"], "tokens_per_step": 128, "tokens_per_micro_batch": 128}
    step["optimizer"] = {**step["optimizer"], "learning_rate": 3e-3}
    length = "12 steps"
    return {
        **tree,
        "data": {**tree["data"], "max_tokens": 64, "tokenizer": tokenizer},
        "model": {**kept, **sizes},
        "step": step,
        "length": length,
        "evaluate": {"every": length},
    }


def prepared(folder, *, small):
    """Text, pieces and recipes."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

    with lzma.open(DATA / "english_train.txt.xz", "rt", encoding="utf-8") as file:
        text = file.read()
    (folder / "train.txt").write_text(text[:60_000] if small else text, encoding="utf-8")
    with lzma.open(DATA / "english_valid.txt.xz", "rt", encoding="utf-8") as file:
        (folder / "valid.txt").write_text(file.read()[: 2_000 if small else 12_000], encoding="utf-8")
    symbols = ["<|unknown|>", "<|begin|>", "<|end|>"]
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    size = 500 if small else 8000
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=size, special_tokens=symbols, initial_alphabet=alphabet, show_progress=False
    )
    made.train([str(folder / "train.txt")], trainer)
    made.add_special_tokens([AddedToken(each, special=True, normalized=False) for each in symbols])
    pieces = folder / "pieces"
    pieces.mkdir()
    made.save(str(pieces / "tokenizer.json"))
    settings = {"unk_token": symbols[0], "bos_token": symbols[1], "eos_token": symbols[2]}
    settings |= {"pad_token": symbols[2], "tokenizer_class": "PreTrainedTokenizerFast"}
    (pieces / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
    for name, (_, tree) in CASES.items():
        tree = tiny(tree) if small else tree
        tree["data"]["root"] = str(folder)
        tree["data"]["tokenizer"]["path"] = str(pieces)
        recipe_of(folder, name).write_text(json.dumps(tree), encoding="utf-8")


def recipe_of(folder, name):
    """The file of a case."""
    return folder / (name.replace(" ", "_").replace(",", "") + ".yaml")


# What one process does


def one(name, folder):
    """Waits for its turn, trains, and says what it saw on its last line."""
    import torch

    import trimtab
    import trimtab.launch

    say("READY")
    sys.stdin.readline()
    if name == CHECK:
        say("RESULT " + json.dumps(kernel_speed()))
        return
    card, _ = CASES[name]
    on_gpu = torch.cuda.is_available()
    if on_gpu:
        total = torch.cuda.mem_get_info()[1]
        torch.cuda.set_per_process_memory_fraction(min(1.0, (LIMITS[card] - OF_CUDA) * 2**30 / total))
    used = Used(on_gpu=on_gpu)
    out, failure = folder / ("run_" + recipe_of(folder, name).stem), None
    began = time.perf_counter()
    try:
        trimtab.train(recipe_of(folder, name), out=out, progress=Lines())
    except Exception as error:  # of any kind: what was measured until then is worth telling
        failure = f"{type(error).__name__}: {error}"[:1500]
        traceback.print_exc()
    found = {"case": name, "card": card, "failure": failure, "seconds": round(time.perf_counter() - began, 1)}
    say("RESULT " + json.dumps(found | used.told() | of_logs(out) | planned(out)))


class Used:
    """Looks at the driver's figure for the GPU until it is told."""

    def __init__(self, *, on_gpu):
        self.on_gpu, self.most, self.ended = on_gpu, 0, False
        if on_gpu:
            self.thread = threading.Thread(target=self.look, daemon=True)
            self.thread.start()

    def look(self):
        """Five times a second."""
        import torch

        while not self.ended:
            free, total = torch.cuda.mem_get_info()
            self.most = max(self.most, total - free)
            time.sleep(0.2)

    def told(self):
        """Peaks in GiB, checks and evaluation included."""
        import torch

        self.ended = True
        if not self.on_gpu:
            return {}
        return {
            "allocated_gib": round(torch.cuda.max_memory_allocated() / 2**30, 2),
            "reserved_gib": round(torch.cuda.max_memory_reserved() / 2**30, 2),
            "driver_gib": round(self.most / 2**30, 2),
        }


class Lines:
    """Progress as plain lines."""

    def message(self, text):
        """A message."""
        print(text, file=sys.stderr, flush=True)

    def finding(self, finding):
        """A finding."""
        print(finding.code, finding.what, file=sys.stderr, flush=True)

    def step(self, numbers, **_):
        """A step."""
        print({key: numbers[key] for key in ("step", "loss") if key in numbers}, file=sys.stderr, flush=True)

    def __getattr__(self, name):
        return lambda *given, **more: print(name, *given, file=sys.stderr, flush=True)


def of_logs(out):
    """Losses and speed from the logs of a run, as far as it came."""
    path = out / "metrics.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else []
    if len(lines) < 4:
        return {"steps": len(lines)}
    losses = [line["loss"] for line in lines]
    steady = lines[len(lines) // 2 :]
    evaluated = out / "evaluations.jsonl"
    scores = [json.loads(line) for line in evaluated.read_text().splitlines()] if evaluated.is_file() else []
    return {
        "steps": len(lines),
        "loss_first_3": round(statistics.mean(losses[:3]), 3),
        "loss_last_3": round(statistics.mean(losses[-3:]), 3),
        "losses": [round(loss, 2) for loss in losses],
        "grad_norms": [round(line["grad_norm"], 2) for line in lines],
        "skipped": sum(line["skipped"] for line in lines),
        "valid_loss": scores[-1]["loss"] if scores else None,
        "tokens_per_second": round(statistics.median(line["tokens_per_second"] for line in steady), 1),
    }


def planned(out):
    """What `trimtab fit` plans for the run, and its operations by token."""
    from trimtab.config.load import load_recipe
    from trimtab.fit.gpus import find_gpu
    from trimtab.fit.plan import plan_recipe
    from trimtab.fit.speed import speed_of

    recipe = load_recipe(out / "recipe.yaml").recipe
    gpu = find_gpu("h200")
    plan = plan_recipe(recipe, out, gpu)
    shape = plan.run.shape
    (stack,) = shape.stacks
    weights = shape.parameters - shape.count(["embedding"]) * (not shape.tied)
    attention = 6 * stack.layers * stack.layer.query_width * plan.run.slots.longest
    return {
        "parameters": shape.parameters,
        "planned_allocated_gib": round(plan.allocated / 2**30, 2),
        "planned_reserved_gib": round(plan.reserved / 2**30, 2),
        "planned_driver_gib": round(plan.driver / 2**30, 2),
        "planned_evaluation_gib": round(plan.evaluation / 2**30, 2),
        "planned_tokens_per_second": round(speed_of(plan, gpu).tokens_per_second, 1),
        "operations_per_token": 6 * weights + attention,
    }


def kernel_speed():
    """Whether the kernel agrees with its twin, in each form, and its bytes in a second on 134 million weights."""
    import torch
    from torch import nn

    from trimtab.config.optimizers import AdamW, StableAdamW
    from trimtab.gpu.triton_runs import triton_runs_on
    from trimtab.step.optimizer.compact_adamw import BITS, CompactAdamW, kernel_failure

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    found = {}
    forms = {
        "bfloat16": {"dtype": torch.bfloat16},
        "float32": {"dtype": torch.float32},
        "24 bits": {"dtype": torch.bfloat16, "keeps": True},
    }
    for states in ("8bit", "4bit", "bfloat16"):
        for name, form in forms.items():
            failure = "Triton does not run here"
            if triton_runs_on(device):
                failure = kernel_failure(device, bits=BITS[states], **form)
            found[f"{states}, weights in {name}"] = {"works": not failure, "failure": failure or None}
    rows = 16384 if device.type == "cuda" else 128
    for kind in (AdamW, StableAdamW):
        for states in ("8bit", "4bit"):
            model = nn.Linear(8192, rows, bias=False, device=device, dtype=torch.bfloat16)
            optimizer = CompactAdamW(kind(states=states), model)
            model.weight.grad = torch.randn_like(model.weight)
            never = torch.zeros((), dtype=torch.bool, device=device)
            times = []
            for _ in range(6):
                began = time.perf_counter()
                optimizer.update(learning_rate=1e-3, skip=never)
                if device.type == "cuda":
                    torch.cuda.synchronize()
                times.append(time.perf_counter() - began)
            state = sum(each.nbytes for each in optimizer.state_tensors().values())
            moved = 2 * state + 3 * model.weight.nbytes
            found[f"{kind.__name__} {states}"] = {
                "milliseconds": round(1e3 * min(times), 3),
                "gigabytes_per_second": round(moved / min(times) / 1e9, 1),
                "state_bytes_per_weight": round(state / model.weight.numel(), 4),
            }
    return {"case": CHECK, **found}


def say(line):
    """To the process that started this one."""
    print(line, flush=True)


# The process that is started


def ladder(folder, *, small, seconds, only):
    """All cases that begin in time, each in its process; imports of all run meanwhile."""
    began = time.monotonic()
    names = [name for name in (CHECK, *CASES) if only is None or any(each in name for each in only)]
    environment = {**os.environ, "PYTORCH_ALLOC_CONF": "expandable_segments:True"}
    environment["PYTORCH_CUDA_ALLOC_CONF"] = environment["PYTORCH_ALLOC_CONF"]
    children = {}
    for name in names:
        log = (folder / (recipe_of(folder, name).stem + ".log")).open("w", encoding="utf-8")
        command = [sys.executable, __file__, "--child", name, "--folder", str(folder)]
        children[name] = (
            subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, env=environment
            ),
            log,
        )
    results = []
    for name, (child, log) in children.items():
        left = seconds - (time.monotonic() - began)
        if left < 20:
            child.kill()
            results.append({"case": name, "failure": "not begun: the time was over"})
            continue
        watchdog = threading.Timer(left, child.kill)
        watchdog.start()
        result = asked(child)
        watchdog.cancel()
        child.wait()
        log.close()
        if result is None:
            said = Path(log.name).read_text(encoding="utf-8")[-1500:]
            stem = recipe_of(folder, name).stem
            result = {"case": name, "failure": f"ended early: {said}"} | of_logs(folder / f"run_{stem}")
        results.append(result)
        tell(result)
    return results


def asked(child):
    """Gives a child its turn; the result that it tells, or None."""
    assert child.stdout is not None
    assert child.stdin is not None
    found = None
    for line in child.stdout:
        if line.startswith("READY"):
            child.stdin.write("go\n")
            child.stdin.flush()
        elif line.startswith("RESULT "):
            found = json.loads(line.removeprefix("RESULT "))
    return found


def tell(result):
    """One case, for a terminal."""
    if "operations_per_token" in result and result.get("tokens_per_second"):
        rate = result["operations_per_token"] * result["tokens_per_second"] / 1e12
        result["teraflops"] = round(rate, 1)
        result["share_of_gemm"] = round(rate / GEMM_TERAFLOPS, 3)
    hidden = ("losses", "grad_norms")
    print(json.dumps({key: value for key, value in result.items() if key not in hidden}), flush=True)


def main():
    """Parses the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path)
    parser.add_argument("--tiny", action="store_true", help="sizes for a CPU")
    parser.add_argument("--seconds", type=float, default=345.0, help="when to stop")
    parser.add_argument("--only", nargs="+", help="cases whose name holds one of these")
    parser.add_argument("--child")
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    if given.child:
        one(given.child, given.folder)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepared(folder, small=given.tiny)
        results = ladder(folder, small=given.tiny, seconds=given.seconds, only=given.only)
    if given.out:
        given.out.parent.mkdir(parents=True, exist_ok=True)
        ran = {each["case"] for each in results}
        before = json.loads(given.out.read_text()) if given.out.is_file() else []
        results = [*(each for each in before if each["case"] not in ran), *results]
        given.out.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
