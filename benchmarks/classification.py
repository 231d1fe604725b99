"""Which package does a line of prose come from? A tiny classifier on a CPU, the majority class, and n-grams of letters.

    python benchmarks/classification.py --data DIR --out benchmarks/classification.json [--steps 400]
    python benchmarks/classification.py --data DIR --out minilm.json --pretrained MINILM [--only-pretrained]

MINILM is a folder in the form of Hugging Face, such as that of all-MiniLM-L6-v2: all its weights are fine-tuned, an
adapter of rank 32 with a new head, and all weights by the Trainer of transformers with as many steps of as many lines,
the same schedule and the same AdamW.

DIR has `train.en.xz` and `train.meta.xz`, line by line; a line of the latter is package TAB document. Whole documents
are held out: every tenth by a hash of its name. Packages with fewer than 1,000 lines are left out.
"""

import argparse
import hashlib
import json
import lzma
import random
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np
from plain_progress import PlainProgress
from record import Record

import trimtab
from trimtab.metrics.labels import accuracy, macro_f1
from trimtab.metrics.metric import GivenLabels

PRETRAINED = {"all weights": None, "LoRA of rank 32": {"kind": "lora", "rank": 32}}
RATES = {"all weights": 1e-4, "LoRA of rank 32": 1e-3}
LEAST_LINES, ORDERS, BUCKETS = 1000, range(1, 5), 2**18


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pretrained", type=Path, help="fine-tune this encoder as well")
    parser.add_argument(
        "--held-out", type=int, default=10**9, help="lines at most, drawn from the held-out ones"
    )
    parser.add_argument("--batch", type=int, default=128, help="lines of a step")
    parser.add_argument("--max-tokens", type=int, default=128, help="of a line that is read")
    parser.add_argument("--only-pretrained", action="store_true")
    parser.add_argument("--arms", nargs="*", default=[], help="run those alone whose names hold one of these")
    args = parser.parse_args()
    train, held = split(Path(args.data))
    if args.held_out < len(held):
        held = random.Random(1).sample(held, args.held_out)
    labels = sorted({label for _, label in train})
    record = Record(
        args.out,
        question="which package a line of English prose comes from, by documents that were never seen",
        device="cpu" if args.pretrained is None else None,
        seed=args.seed,
        train_lines=len(train),
        held_out_lines=len(held),
        batch=args.batch,
        max_tokens=args.max_tokens,
        labels={label: sum(each == label for _, each in held) for label in labels},
    )

    def arm(name, work):
        if not args.arms or any(each in name for each in args.arms):
            record.arm(name, work)

    for name, adapter in PRETRAINED.items() if args.pretrained is not None else ():
        model = {"kind": "pretrained", "path": str(args.pretrained.absolute())}
        changes = {"model": model, **({"adapter": adapter} if adapter else {})}
        rate = RATES[name]
        arm(
            f"{args.pretrained.name}, {name}",
            lambda changes=changes, rate=rate: classifier(
                train,
                held,
                steps=args.steps,
                seed=args.seed,
                batch=args.batch,
                rate=rate,
                max_tokens=args.max_tokens,
                **changes,
            ),
        )
    if args.pretrained is not None:
        arm(
            f"{args.pretrained.name}, all weights, Trainer of transformers",
            lambda: trainer(
                args.pretrained,
                train,
                held,
                steps=args.steps,
                seed=args.seed,
                batch=args.batch,
                max_tokens=args.max_tokens,
            ),
        )
    if args.only_pretrained:
        return
    arm("majority class", lambda: majority(train, held))
    arm("naive Bayes on n-grams of 1 to 4 letters", lambda: letters(train, held))
    arm(
        "trimtab, preset tiny",
        lambda: classifier(
            train, held, steps=args.steps, seed=args.seed, batch=args.batch, max_tokens=args.max_tokens
        ),
    )


def split(folder):
    """Lines with their packages: those to train on, and those of held-out documents."""
    with lzma.open(folder / "train.en.xz", "rt") as lines, lzma.open(folder / "train.meta.xz", "rt") as metas:
        rows = [
            (line.rstrip("\n").replace("\t", " "), *meta.rstrip("\n").split("\t")[:2])
            for line, meta in zip(lines, metas, strict=True)
        ]
    parts = [], []
    for text, package, document in rows:
        digest = hashlib.sha256(f"{package} {document}".encode()).digest()
        parts[digest[0] % 10 == 0].append((text, package))
    counts = Counter(package for _, package in parts[0])
    kept = {package for package, count in counts.items() if count >= LEAST_LINES}
    return [[row for row in part if row[1] in kept] for part in parts]


def scored(predicted, held):
    names = sorted({*predicted, *(label for _, label in held)})
    numbers = {name: number for number, name in enumerate(names)}
    given = GivenLabels(
        predicted=[numbers[each] for each in predicted], true=[numbers[label] for _, label in held]
    )
    return {"accuracy": round(accuracy(given), 4), "macro_f1": round(macro_f1(given), 4)}


def majority(train, held):
    largest = Counter(label for _, label in train).most_common(1)[0][0]
    return {"label": largest, **scored([largest] * len(held), held)}


def letters(train, held):
    """Multinomial naive Bayes over hashed n-grams, add-0.1 smoothing."""
    labels = sorted({label for _, label in train})
    counts = np.full((len(labels), BUCKETS), 0.1)
    prior = np.zeros(len(labels))
    for text, label in train:
        number = labels.index(label)
        prior[number] += 1
        np.add.at(counts[number], grams(text), 1)
    weights = np.log(counts / counts.sum(1, keepdims=True))
    prior = np.log(prior / prior.sum())
    best = [int((prior + weights[:, grams(text)].sum(1)).argmax()) for text, _ in held]
    return scored([labels[number] for number in best], held)


def grams(text):
    codes = np.frombuffer(f" {text} ".encode("utf-32-le"), np.uint32).astype(np.uint64)
    found, value = [], np.zeros(len(codes), np.uint64)
    for order in ORDERS:
        size = max(0, len(codes) - order + 1)
        value = value[:size] * np.uint64(1_000_003) + codes[order - 1 :][:size] + np.uint64(order)
        found.append(value % np.uint64(BUCKETS))
    return np.concatenate(found).astype(np.int64)


def classifier(train, held, *, steps, seed, batch, max_tokens, rate=1e-3, **changes):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part, rows in (("train", train), ("held", held)):
            (folder / f"{part}.tsv").write_text("".join(f"{text}\t{label}\n" for text, label in rows))
        recipe = {
            "task": "classification",
            "data": {
                "train": [{"pairs": "train.tsv", "source": 1, "target": 2}],
                "valid": {"pairs": "held.tsv", "source": 1, "target": 2},
                "tokenizer": {"vocabulary_size": 8000, "training_lines": 30000},
                "max_tokens": max_tokens,
            },
            "model": {"kind": "encoder", "preset": "tiny"},
            "step": {
                "tokens_per_step": batch,
                "optimizer": {"kind": "adamw", "learning_rate": rate},
                "schedule": {"kind": "linear_warmup", "warmup": f"{steps // 20} steps"},
            },
            "length": f"{steps} steps",
            "evaluate": {"every": f"{steps // 2} steps"},
            "seed": seed,
            **changes,
        }
        if changes:  # the tokenizer is that of the pretrained model
            del recipe["data"]["tokenizer"]
        (folder / "recipe.yaml").write_text(json.dumps(recipe, indent=1))
        began = time.perf_counter()
        result = trimtab.train(folder / "recipe.yaml", out=folder / "run", progress=PlainProgress())
        trained = time.perf_counter() - began
        loaded = trimtab.load_classifier(str(folder / "run"))
        predicted = [each.label for each in loaded.classify(text for text, _ in held)]
        scores = scored(predicted, held)
        return {
            **scores,
            "best_step": result.state.best["step"],
            "accuracy_in_the_run": result.state.best["value"],
            "parameters": loaded.model.num_parameters(),
            "step_seconds": round(result.state.seconds, 1),
            "run_seconds": round(trained, 1),
            "findings": [f"{each.code} {each.name}" for each in result.findings],
            "recipe": recipe,
        }


def trainer(folder, train, held, *, steps, seed, batch, max_tokens):
    """The same model by Hugging Face's own tools."""
    import torch
    from transformers import (
        AutoModelForSequenceClassification,
        AutoTokenizer,
        DataCollatorWithPadding,
        Trainer,
        TrainingArguments,
        set_seed,
    )

    set_seed(seed)
    names = sorted({label for _, label in train})
    tokenizer = AutoTokenizer.from_pretrained(folder)
    network = AutoModelForSequenceClassification.from_pretrained(
        folder, num_labels=len(names), dtype=torch.float32
    )

    def rows(lines):
        found = tokenizer([text for text, _ in lines], truncation=True, max_length=max_tokens)["input_ids"]
        return [
            {"input_ids": ids, "labels": names.index(label)}
            for ids, (_, label) in zip(found, lines, strict=True)
        ]

    drawn = random.Random(seed).sample(train, steps * batch)
    with tempfile.TemporaryDirectory() as place:
        settings = TrainingArguments(
            place, max_steps=steps, per_device_train_batch_size=batch, learning_rate=RATES["all weights"],
            lr_scheduler_type="linear", warmup_steps=steps // 20, weight_decay=0.0, adam_beta2=0.98,
            report_to="none", save_strategy="no", seed=seed, disable_tqdm=True, dataloader_pin_memory=False,
            per_device_eval_batch_size=64,
        )  # fmt: skip
        began = time.perf_counter()
        run = Trainer(
            network, settings, train_dataset=rows(drawn), data_collator=DataCollatorWithPadding(tokenizer)
        )
        run.train()
        seconds = time.perf_counter() - began
        best = run.predict(rows(held)).predictions.argmax(1)
    return {
        **scored([names[number] for number in best], held),
        "parameters": sum(each.numel() for each in network.parameters()),
        "step_seconds": round(seconds, 1),
        "lines_seen": steps * batch,
    }


if __name__ == "__main__":
    main()
