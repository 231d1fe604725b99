"""A pretrained model, fine-tuned and merged in two commands: how long they take, and what transformers makes of it.

    python benchmarks/two_commands.py --model SmolLM2-135M-Instruct.gguf --train train.txt --valid dev.txt \\
        --out two_commands.json [--steps 100]
    python benchmarks/two_commands.py --tiny --out build/two_commands_tiny.json

The commands are `trimtab train lora.yaml` and `trimtab export runs/lora --to hf --out merged`. Then transformers alone
opens `merged` and scores the documents of `dev.txt`; trimtab scores them with the run, its adapter unmerged: nats a
token of both. `--tiny` tries everything on a CPU with random weights.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parents[1]
LONGEST = 256


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", type=Path)
    parser.add_argument("--train", type=Path)
    parser.add_argument("--valid", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--rank", type=int, default=32)
    parser.add_argument("--tokens-per-step", type=int, default=4096)
    parser.add_argument("--tiny", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if args.tiny:
            prepare_tiny(args, folder)
        found = measured(args, folder)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(json.dumps(found, indent=1) + "\n")
    print(json.dumps(found, indent=1))


def prepare_tiny(args, folder):
    sys.path.insert(0, str(ROOT))
    from tests.pretrained_folder import pretrained_folder
    from tests.text_run import documents

    args.model = pretrained_folder(folder / "base")
    args.train, args.valid, args.steps, args.tokens_per_step = folder / "t.txt", folder / "d.txt", 4, 256
    args.train.write_text(documents(60, seed=1))
    args.valid.write_text(documents(4, seed=2))


def measured(args, folder):
    recipe = {
        "task": "language_model",
        "data": {
            "train": [{"text": str(args.train.absolute())}],
            "valid": {"text": str(args.valid.absolute())},
            "max_tokens": 128 if args.tiny else LONGEST,
        },
        "model": {"kind": "pretrained", "path": str(args.model.absolute())},
        "adapter": {"kind": "lora", "rank": args.rank},
        "step": {
            "tokens_per_step": args.tokens_per_step,
            "optimizer": {"kind": "adamw", "learning_rate": 5e-4},
            "schedule": {"kind": "linear_warmup", "warmup": f"{max(1, args.steps // 10)} steps"},
        },
        "length": f"{args.steps} steps",
        "evaluate": {"every": f"{args.steps} steps"},
        "checkpoint": {"every": f"{args.steps} steps"},
    }
    (folder / "lora.yaml").write_text(json.dumps(recipe))
    commands = {
        "train": ["train", "lora.yaml"],
        "export": [
            "export",
            "runs/lora",
            "--to",
            "hf",
            "--out",
            "merged",
            "--source",
            str(args.valid.absolute()),
        ],
    }
    seconds = {}
    for name, words in commands.items():
        began = time.perf_counter()
        subprocess.run([sys.executable, "-m", "trimtab", *words], cwd=folder, check=True)
        seconds[name] = round(time.perf_counter() - began, 1)
    return {
        "model": args.model.name,
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU",
        "steps": args.steps,
        "tokens_per_step": args.tokens_per_step,
        "rank": args.rank,
        "seconds": seconds,
        "nats_a_token": {
            "trimtab, adapter unmerged": by_trimtab(folder / "runs" / "lora", args.valid),
            "transformers, merged": by_transformers(folder / "merged", args.valid),
        },
    }


def texts_of(path):
    return [each.strip("\n") for each in path.read_text().split("\n\n") if each.strip()]


@torch.inference_mode()
def by_trimtab(run, valid):
    from trimtab.data.exact_text import ExactText
    from trimtab.export.trainer import row_logits
    from trimtab.inference.load import load_model

    loaded = load_model(str(run), device="cpu")
    tokenizer = ExactText(loaded.tokenizer)
    return mean_loss(
        [[tokenizer.start, *ids] for ids in tokenizer.encode(texts_of(valid))],
        lambda row: row_logits(loaded.model, [row])[0],
    )


@torch.inference_mode()
def by_transformers(folder, valid):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    network = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    rows = [
        [
            tokenizer.bos_token_id,
            *tokenizer(text, add_special_tokens=False)["input_ids"],
            tokenizer.eos_token_id,
        ]
        for text in texts_of(valid)
    ]
    return mean_loss(rows, lambda row: network(input_ids=torch.tensor([row])).logits[0])


def mean_loss(rows, logits_of):
    total = sum(
        float(torch.nn.functional.cross_entropy(logits_of(row)[:-1], torch.tensor(row[1:]), reduction="sum"))
        for row in rows
    )
    return round(total / sum(len(row) - 1 for row in rows), 6)


if __name__ == "__main__":
    main()
