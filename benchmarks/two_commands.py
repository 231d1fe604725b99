"""Pretrained models, fine-tuned and merged in two commands: how long they take, and what transformers makes of them.

    python benchmarks/two_commands.py --model SmolLM2-135M-Instruct.gguf --train train.txt --valid dev.txt \\
        --encoder DIR --families smollm2 marian t5 minilm --out two_commands.json [--steps 100]
    python benchmarks/two_commands.py --steps 4 --out build/two_commands_tiny.json

The commands are `trimtab train lora.yaml` and `trimtab export runs/lora --to hf --out merged`. Then transformers alone
opens `merged` and scores held-out lines, and trimtab scores them with the run, its adapter unmerged: nats a token of a
language model or a translator, and the largest difference of a probability of a classifier. SmolLM2 and MiniLM are
taken with their real weights where `--model` and `--encoder` name them; all others are small folders with random ones,
which the classes of transformers write.
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
FAMILIES = ("smollm2", "llama", "marian", "t5", "bert", "minilm")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--families", nargs="+", choices=FAMILIES, default=["llama", "marian", "t5", "bert"])
    parser.add_argument("--model", type=Path, help="of smollm2: a .gguf file or a folder")
    parser.add_argument("--encoder", type=Path, help="of minilm: a folder")
    parser.add_argument("--train", type=Path, help="documents for smollm2")
    parser.add_argument("--valid", type=Path, help="documents that are scored")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--rank", type=int, default=32)
    parser.add_argument("--tokens-per-step", type=int, default=4096, help="of smollm2")
    args = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    found = {
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU",
        "steps": args.steps,
        "rank": args.rank,
        "note": "seconds from the shell, starting of Python and proof of the export included",
        "families": {},
    }
    for family in args.families:
        with tempfile.TemporaryDirectory() as name:
            found["families"][family] = measured(args, Path(name), family)
        print(family, json.dumps(found["families"][family]), flush=True)
        args.out.parent.mkdir(parents=True, exist_ok=True)
        args.out.write_text(json.dumps(found, indent=1) + "\n")


def measured(args, folder, family):
    """Both commands and both scores."""
    prepare = {"marian": pairs, "t5": pairs, "bert": labels, "minilm": labels}.get(family, texts)
    case = prepare(args, folder, family)
    (folder / "lora.yaml").write_text(json.dumps(case.recipe))
    commands = {
        "train": ["train", "lora.yaml"],
        "export": ["export", "runs/lora", "--to", "hf", "--out", "merged", *case.of_export],
    }
    seconds = {}
    for name, words in commands.items():
        began = time.perf_counter()
        subprocess.run([sys.executable, "-m", "trimtab", *words], cwd=folder, check=True)
        seconds[name] = round(time.perf_counter() - began, 1)
    return {
        "weights": case.weights,
        "seconds": seconds,
        **case.compared(folder / "runs/lora", folder / "merged"),
    }


class Case:
    """What is trained, and how it is scored."""

    def __init__(self, recipe, *, weights, compared, of_export=()):
        self.recipe, self.weights, self.compared, self.of_export = recipe, weights, compared, of_export


def recipe_of(args, task, data, *, path, tokens, rate):
    """A LoRA of few steps."""
    return {
        "task": task,
        "data": data,
        "model": {"kind": "pretrained", "path": str(path)},
        "adapter": {"kind": "lora", "rank": args.rank},
        "step": {
            "tokens_per_step": tokens,
            "optimizer": {"kind": "adamw", "learning_rate": rate},
            "schedule": {"kind": "linear_warmup", "warmup": f"{max(1, args.steps // 10)} steps"},
        },
        "length": f"{args.steps} steps",
        "evaluate": {"every": f"{args.steps} steps"},
        "checkpoint": {"every": f"{args.steps} steps"},
    }


# Language models.


def texts(args, folder, family):
    """SmolLM2 with its real weights, or a small Llama."""
    real = family == "smollm2"
    if real and None in (args.model, args.train, args.valid):
        raise SystemExit("smollm2 needs --model, --train and --valid")
    base, train, valid = args.model, args.train, args.valid
    if not real:
        from tests.pretrained_folder import pretrained_folder
        from tests.text_run import documents

        base, train, valid = pretrained_folder(folder / "base"), folder / "t.txt", folder / "d.txt"
        train.write_text(documents(60, seed=1))
        valid.write_text(documents(4, seed=2))
    data = {
        "train": [{"text": str(train.absolute())}],
        "valid": {"text": str(valid.absolute())},
        "max_tokens": LONGEST if real else 128,
    }
    tokens = args.tokens_per_step if real else 256
    return Case(
        recipe_of(args, "language_model", data, path=base.absolute(), tokens=tokens, rate=5e-4),
        weights="real" if real else "random",
        compared=lambda run, merged: nats(by_trimtab(run, valid), by_transformers(merged, valid)),
        of_export=("--source", str(valid.absolute())),
    )


def nats(ours, theirs):
    return {
        "nats_a_token": {"trimtab, adapter unmerged": ours, "transformers, merged": theirs},
        "difference": round(abs(ours - theirs), 7),
    }


# Translators.


def pairs(args, folder, family):
    """A small translator of a family, and pairs of its twenty words."""
    from tests.module_folder import module_folder
    from tests.small_run import small_pairs

    base = module_folder(folder / "base", family)
    for name, count in (("train", 120), ("dev", 20)):
        for side, lines in zip(("en", "de"), zip(*small_pairs(count, seed=count), strict=True), strict=True):
            (folder / f"{name}.{side}").write_text("".join(f"{line}\n" for line in lines))
    data = {
        "train": [{"source": "train.en", "target": "train.de"}],
        "valid": {"source": "dev.en", "target": "dev.de"},
        "max_tokens": 40,
    }
    held = small_pairs(20, seed=20)

    def compared(run, merged):
        import trimtab

        scores = list(
            trimtab.score(run, [one for one, _ in held], [other for _, other in held], device="cpu")
        )
        ours = -sum(each.log_probability for each in scores) / sum(each.num_tokens for each in scores)
        return nats(round(ours, 6), of_pairs(merged, held))

    return Case(
        recipe_of(args, "translation", data, path=base, tokens=256, rate=1e-3),
        weights="random",
        compared=compared,
        of_export=("--source", "dev.en", "--reference", "dev.de"),
    )


@torch.inference_mode()
def of_pairs(folder, held):
    """Nats a token of the targets by transformers."""
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    network = AutoModelForSeq2SeqLM.from_pretrained(folder, dtype=torch.float32).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    total, count = 0.0, 0
    for source, target in held:
        given = tokenizer(source, return_tensors="pt")
        wanted = tokenizer(text_target=target, return_tensors="pt")["input_ids"]
        total += float(network(**given, labels=wanted).loss) * wanted.numel()
        count += wanted.numel()
    return round(total / count, 6)


# Classifiers.


def labels(args, folder, family):
    """MiniLM with its real weights, or a small BERT; the head is new in both."""
    from tests.label_run import small_texts, write_texts

    if family == "minilm" and args.encoder is None:
        raise SystemExit("minilm needs --encoder")
    base = args.encoder
    if family == "bert":
        from tests.module_folder import module_folder

        base = module_folder(folder / "base", "bert")
    write_texts(folder / "train.tsv", small_texts(180))
    write_texts(folder / "dev.tsv", small_texts(30, seed=2))
    data = {
        "train": [{"pairs": "train.tsv", "source": 1, "target": 2}],
        "valid": {"pairs": "dev.tsv", "source": 1, "target": 2},
        "max_tokens": 60,
    }
    held = [text for text, _ in small_texts(30, seed=2)]

    def compared(run, merged):
        import trimtab

        found = trimtab.load_classifier(str(run), device="cpu").classify(held)
        ours = [each.probabilities for each in found]
        theirs = probabilities(merged, held)
        worst = max(
            abs(one[name] - other[name]) for one, other in zip(ours, theirs, strict=True) for name in one
        )
        return {"texts": len(held), "largest_difference_of_a_probability": worst}

    return Case(
        recipe_of(args, "classification", data, path=base.absolute(), tokens=16, rate=1e-3),
        weights="real" if family == "minilm" else "random",
        compared=compared,
    )


@torch.inference_mode()
def probabilities(folder, held):
    """Of each label for each text by transformers."""
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    network = AutoModelForSequenceClassification.from_pretrained(folder, dtype=torch.float32).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    names = network.config.id2label
    found = []
    for text in held:
        scores = network(**tokenizer(text, return_tensors="pt")).logits[0].softmax(-1)
        found.append({names[number]: float(each) for number, each in enumerate(scores)})
    return found


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
