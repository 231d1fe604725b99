"""Fine-tuning of SmolLM2-135M-Instruct with its real weights: trimtab against Hugging Face's Trainer (with PEFT) on the
same pairs. What is learned, what is forgotten, tokens a second, and peak memory.

    python benchmarks/finetune_real.py prepare --corpora DIR --gguf FILE --out build/finetune --parts 3
    python benchmarks/finetune_real.py measure --weights build/finetune_0 build/finetune_1 build/finetune_2 \\
        --out finetune_real.json

`prepare` cuts pairs from real text (a package's description and its first line; English and German sentences), general
text that is none of it, and the weights in parts that travel one by one; FOLDER_0 has the texts, and the library that
reads GGUF files. `measure` joins them.

Both sides read the same rows, with the same tokens a step, learning rate and schedule; seeds are paired. Learned is
bits a byte of held-out answers, forgotten that of general text before and after. Trainer groups by length and takes its
best of several batch sizes; its base is in bf16 beside an adapter, and in float32 under autocast where all is trained.

Six to eight minutes on an H200. `--tiny` tries everything on a CPU: random weights of a tiny shape, few rows.
"""

import argparse
import copy
import gc
import itertools
import json
import math
import shutil
import statistics
import tempfile
import time
from pathlib import Path

from finetune_data import DATA, HELD_OUT, JOINED, TRAIN, joined, prepare, use_site

LONGEST = 256
RATES = {"lora": 1e-3, "full": 1e-4}
EPOCHS = 2
WARMUP = 0.1


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    cut = commands.add_parser("prepare")
    cut.add_argument("--corpora", type=Path, required=True)
    cut.add_argument("--gguf", type=Path, required=True)
    cut.add_argument(
        "--out", type=Path, required=True, help="FOLDER, of which FOLDER_0, FOLDER_1, ... are made"
    )
    cut.add_argument("--parts", type=int, default=3)
    measured = commands.add_parser("measure")
    measured.add_argument("--weights", type=Path, nargs="+", required=True, help="what `prepare` made")
    measured.add_argument("--out", default="finetune_real.json")
    measured.add_argument(
        "--arms", nargs="+", default=["lora", "full", "3b"], choices=["lora", "full", "3b", "7b"]
    )
    measured.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    measured.add_argument("--rank", type=int, default=32)
    measured.add_argument(
        "--batches", type=int, nargs="+", default=[64, 128, 256], help="that Trainer may take"
    )
    measured.add_argument("--tries", type=float, default=5.0, help="seconds of each of them")
    measured.add_argument(
        "--tokens", type=int, default=16384, help="of a step of trimtab where speed is measured"
    )
    measured.add_argument("--seconds", type=float, default=10.0, help="of each side where speed is measured")
    measured.add_argument("--minutes", type=float, default=8.0, help="no arm begins that would end later")
    measured.add_argument("--workers", type=int, default=4, help="of Trainer's loader")
    measured.add_argument("--tiny", action="store_true", help="try it on a CPU")
    args = parser.parse_args()
    prepare(args) if args.command == "prepare" else measure(args)


# Both sides.


def measure(args):
    """All arms, the most valuable first."""
    use_site(args.weights)
    import torch
    from record import Record

    record = Record(
        args.out,
        question="fine-tuning of real weights: trimtab against HF Trainer + PEFT",
        rank=args.rank,
        minutes=args.minutes,
        rates=RATES,
        epochs=EPOCHS,
        versions=versions(),
    )
    args.device, args.begun = record.device, time.perf_counter()
    cuda = args.device.type == "cuda"
    torch.backends.cuda.matmul.allow_tf32 = True
    room = "/dev/shm" if cuda and Path("/dev/shm").is_dir() else None  # memory is faster than a disk
    with tempfile.TemporaryDirectory(dir=room) as folder:
        tempfile.tempdir = folder
        work = Work(args, Path(folder))
        record.arm("base", work.base_scores)
        for kind in (each for each in args.arms if each in RATES):
            compare(work, kind, record)
        work.base = None
        freed(args)
        for shape in (each for each in args.arms if each in ("3b", "7b")):
            of_shape(work, shape, record)


def versions():
    from importlib.metadata import PackageNotFoundError, version

    found = {}
    for name in ("transformers", "peft", "bitsandbytes", "gguf"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "none"
    return found


class Work:
    """The rows and the model that both sides begin from."""

    def __init__(self, args, folder):
        self.args, self.folder = args, folder
        self.data = next(each for each in args.weights if (each / DATA).is_dir()) / DATA
        self.model = self._tiny() if args.tiny else joined(args.weights, folder / JOINED)
        self.train_file = self._few("train.jsonl", 48 if args.tiny else TRAIN)
        self.valid = {
            "learned": self._few("learned.jsonl", 12 if args.tiny else HELD_OUT),
            "general": self._general(),
        }
        self.rows, self.pad, self.held_out = self._rows()
        self.base = None
        self.counted = statistics.mean(len(ids) - 1 - given for ids, given in self.rows)
        self.lengths = [len(ids) for ids, _ in self.rows]

    def _tiny(self):
        """Random weights of a tiny shape, with the tokenizer of the real ones."""
        from argparse import Namespace

        import lora_speed
        import torch

        real = joined(self.args.weights, self.folder / JOINED)
        place = self.folder / "tiny"
        return Path(
            lora_speed.random_model(
                Namespace(model=str(real), random="tiny", device=torch.device("cpu")), place
            )
        )

    def _few(self, name, count):
        lines = (self.data / name).read_text(encoding="utf-8").splitlines()[:count]
        path = self.folder / name
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path

    def _general(self):
        text = (self.data / "general.txt").read_text(encoding="utf-8")
        path = self.folder / "general.txt"
        path.write_text(text[:6000] if self.args.tiny else text, encoding="utf-8")
        return path

    def recipe(self, kind, *, tokens, length, seed=1, evaluates=True, epochs=None):
        """A recipe of trimtab."""
        valid = {
            "learned": {"text": str(self.valid["learned"]), "learn": "answers"},
            "general": {"text": str(self.valid["general"])},
        }
        optimizer = {
            "kind": "adamw",
            "learning_rate": RATES[kind],
            "betas": [0.9, 0.999],
            "weight_decay": 0.0,
        }
        tree = {
            "task": "language_model",
            "data": {
                "train": [{"text": str(self.train_file), "learn": "answers"}],
                **({"valid": valid} if evaluates else {}),
                "max_tokens": LONGEST,
            },
            "model": {"kind": "pretrained", "path": str(self.model)},
            "step": {
                "tokens_per_step": tokens,
                "optimizer": optimizer,
                "schedule": {"kind": "constant"}
                if not evaluates
                else {"kind": "linear_warmup", "warmup": f"{warmup_of(length)} steps"},
                "clip": {"kind": "global_norm", "at": 1.0},
                "compile": "on" if self.args.device.type == "cuda" else "off",
            },
            "length": f"{length} steps",
            "evaluate": {"every": f"{length} steps"},
            "checkpoint": {"every": f"{length} steps"},
            "seed": seed,
        }
        if kind == "lora":
            tree["adapter"] = {"kind": "lora", "rank": self.args.rank}
        path = self.folder / f"{kind}.yaml"
        path.write_text(json.dumps(tree), encoding="utf-8")
        return path

    def _rows(self):
        """Ids with the start symbol, and how many of them are given, of all training rows; and the held-out sets as
        trimtab reads them."""
        from trimtab.config.load import load_recipe
        from trimtab.config.paths import resolve_paths
        from trimtab.data.chat_rows import ChatRows
        from trimtab.data.formats.chat import conversation_of
        from trimtab.progress import Silent
        from trimtab.tasks.task_of import open_datasets

        recipe = resolve_paths(load_recipe(self.recipe("full", tokens=1024, length=2)))
        datasets = open_datasets(recipe, tokenizer_folder=self.folder / "tokenizer", progress=Silent())
        tokenizer = datasets.tokenizers.target
        chat, rows = ChatRows.of(tokenizer, max_tokens=LONGEST), []
        for line in self.train_file.read_text(encoding="utf-8").splitlines():
            found = chat.rows(*conversation_of(json.loads(line))).rows
            rows += [([tokenizer.start, *row.ids], row.prompt) for row in found]
        held = {}
        for name, valid in datasets.valid.items():
            given = [0] * valid.rows if valid.prompt is None else valid.prompt.tolist()
            ids = [[tokenizer.start, *valid.target.row(row).tolist()] for row in range(valid.rows)]
            held[name] = [*zip(ids, given, strict=True)], valid.num_bytes
        return rows, tokenizer.pad, held

    # Trainer and PEFT.

    def loaded(self, kind):
        """A fresh model of transformers, as its users load it for this kind of training."""
        import torch
        from transformers import AutoModelForCausalLM

        if self.base is None:
            gguf = {} if self.model.is_dir() else {"gguf_file": self.model.name}
            place = self.model if self.model.is_dir() else self.model.parent
            self.base = AutoModelForCausalLM.from_pretrained(
                place, dtype=torch.float32, attn_implementation="sdpa", **gguf
            )
            if gguf:  # its weights are float32 by now, yet it is marked as quantized, and Trainer refuses to train it
                config, weights = self.base.config, self.base.state_dict()
                del config.quantization_config
                self.base = AutoModelForCausalLM.from_config(
                    config, dtype=torch.float32, attn_implementation="sdpa"
                )
                self.base.load_state_dict(weights)
            self.base.config.use_cache = False
        narrow = kind == "lora" and self.args.device.type == "cuda"
        model = copy.deepcopy(self.base).to(self.args.device, torch.bfloat16 if narrow else torch.float32)
        if kind != "lora":
            return model
        from lora_speed import TARGETS
        from peft import LoraConfig, get_peft_model

        config = LoraConfig(
            r=self.args.rank,
            lora_alpha=self.args.rank,
            lora_dropout=0.0,
            target_modules=list(TARGETS),
            task_type="CAUSAL_LM",
        )
        return get_peft_model(model, config)

    def base_scores(self):
        """Of the weights as they come, by transformers; and how the rows look."""
        return {
            "scores": self.scores(self.loaded("full")),
            "rows": {
                "count": len(self.rows),
                "mean": statistics.mean(self.lengths),
                "longest": max(self.lengths),
                "counted": self.counted,
            },
        }

    def scores(self, model):
        """Bits a byte of each held-out set."""
        import torch

        model.eval()
        found = {}
        cuda = self.args.device.type == "cuda"
        for name, (rows, num_bytes) in self.held_out.items():
            total = 0.0
            for few in batched(sorted(rows, key=lambda row: len(row[0])), 32):
                batch = collate(few, self.pad)
                labels = batch.pop("labels")[:, 1:].to(self.args.device)
                with torch.inference_mode(), torch.autocast("cuda", torch.bfloat16, enabled=cuda):
                    logits = (
                        model(**{key: each.to(self.args.device) for key, each in batch.items()})
                        .logits[:, :-1]
                        .float()
                    )
                    total += float(
                        torch.nn.functional.cross_entropy(
                            logits.flatten(0, 1), labels.flatten(), ignore_index=-100, reduction="sum"
                        )
                    )
            found[name] = total / math.log(2) / num_bytes
        return found

    def theirs(self, kind, *, batch, seed=1, windows=0, seconds=0.0, steps=0):
        """Trains with Trainer: for a few windows of time, or for so many steps."""
        import torch
        from lora_speed import WARM_STEPS, Clock
        from transformers import Trainer, TrainerCallback, TrainingArguments

        clock, cuda = Clock(self.args), self.args.device.type == "cuda"
        begun = time.perf_counter()

        class Counting(Trainer):
            def training_step(self, model, inputs, *rest, **more):
                clock.tokens = clock.tokens + inputs["attention_mask"].sum()
                return super().training_step(model, inputs, *rest, **more)

        class Windows(TrainerCallback):
            def on_step_end(self, arguments, state, control, **rest):
                if steps:
                    if state.global_step == WARM_STEPS:
                        clock.mark()
                    return
                now = time.perf_counter()
                warm = state.global_step >= WARM_STEPS and now - begun >= min(4.0, seconds)
                if (clock.marks and now - clock.marks[-1][0] >= seconds) or (not clock.marks and warm):
                    clock.mark()
                control.should_training_stop = len(clock.marks) > windows

        model = self.loaded(kind)
        if cuda:
            torch.cuda.reset_peak_memory_stats()
        with tempfile.TemporaryDirectory() as folder:
            settings = TrainingArguments(
                folder, per_device_train_batch_size=batch, max_steps=steps or 10**6, learning_rate=RATES[kind],
                lr_scheduler_type="linear" if steps else "constant", warmup_steps=warmup_of(steps),
                bf16=cuda, use_cpu=not cuda, logging_steps=10**6, save_strategy="no", report_to=[], weight_decay=0.0,
                max_grad_norm=1.0, dataloader_num_workers=self.args.workers, remove_unused_columns=False,
                train_sampling_strategy="group_by_length", length_column_name="length", seed=seed, data_seed=seed,
                dataloader_drop_last=True, adam_beta2=0.999, disable_tqdm=True,
            )  # fmt: skip
            data = [{"input_ids": ids, "given": given, "length": len(ids)} for ids, given in self.rows]
            trainer = Counting(
                model=model, args=settings, train_dataset=data, callbacks=[Windows()],
                data_collator=lambda few: collate([(each["input_ids"], each["given"]) for each in few], self.pad),
            )  # fmt: skip
            trainer.train()  # the mean over the tokens of a batch that count, as in trimtab
        if steps:
            clock.mark()
        found = {"batch": batch, "each": [round(rate) for rate in clock.rates()], "tokens": int(clock.tokens)}
        found["training_seconds"] = round(clock.marks[-1][0] - begun, 1)
        if cuda:
            found["peak_gib"] = round(torch.cuda.max_memory_allocated() / 2**30, 2)
        if steps:
            found["scores"] = self.scores(model)
        del trainer, model
        freed(self.args)
        return found

    def best_batch(self, kind):
        """A short window of each size; what does not fit is said."""
        import torch

        tried = []
        for batch in [2] if self.args.tiny else self.args.batches:
            try:
                tried.append(self.theirs(kind, batch=batch, windows=1, seconds=self.args.tries))
            except torch.cuda.OutOfMemoryError:
                tried.append({"batch": batch, "each": [0], "error": "out of memory"})
                freed(self.args)
            print("HF", kind, tried[-1], flush=True)
        return max(tried, key=lambda each: each["each"][0]), tried

    # trimtab.

    def ours(self, kind, *, tokens, steps, seed):
        """A whole run: what it scores at its end, and how fast it was."""
        import torch
        from plain_progress import PlainProgress
        from timed_run import unchecked

        from trimtab.config.load import load_recipe
        from trimtab.launch import train

        cuda, begun = self.args.device.type == "cuda", time.perf_counter()
        if cuda:
            torch.cuda.reset_peak_memory_stats()

        scored = {}

        class Scores(PlainProgress):
            def evaluation(self, scores):
                scored[scores["set"]] = scores["bits_per_byte"]

        watch = Scores(seconds=60.0)
        with unchecked():
            run = train(
                load_recipe(self.recipe(kind, tokens=tokens, length=steps, seed=seed)),
                out=self.folder / f"{kind}-{seed}",
                progress=watch,
            )
        found = {
            "steps": run.state.step,
            "tokens": run.state.tokens,
            "training_seconds": round(run.state.seconds, 1),
            "seconds_with_start": round(time.perf_counter() - begun, 1),
            "scores": scored,
        }
        if cuda:
            found["peak_gib"] = round(torch.cuda.max_memory_allocated() / 2**30, 2)
        shutil.rmtree(self.folder / f"{kind}-{seed}")
        freed(self.args)
        return found

    def ours_steady(self, kind):
        """Real tokens a second over windows of a run with steps of `--tokens`."""
        from timed_run import timed_run

        tiny = self.args.tiny
        slots = 512 if tiny else self.args.tokens
        # Steps count answers alone; of the tokens of a row so many are answers.
        counted = max(LONGEST, round(slots * self.counted / statistics.mean(self.lengths)))
        recipe = self.recipe(kind, tokens=counted, length=10**6, evaluates=False)
        return timed_run(
            [], warm_steps=2 if tiny else 30, seconds=self.args.seconds, recipe=recipe, checked=False
        )


def compare(work, kind, record):
    """Speed of both sides, then the paired seeds."""
    args, name = work.args, {"lora": f"LoRA of rank {work.args.rank}", "full": "all weights"}[kind]
    if late(record, 60):
        return
    mine = record.arm(f"{name}: trimtab, speed", lambda: work.ours_steady(kind))
    tried = record.arm(
        f"{name}: HF, batches", lambda: dict(zip(("best", "tried"), work.best_batch(kind), strict=True))
    )
    if tried is None:
        return
    best = tried["best"]
    found = record.result.setdefault("compared", {}).setdefault(name, {})
    if mine is not None:
        found["times_as_fast"] = round(mine["tokens_per_second"] / max(1, best["each"][0]), 2)
    if mine is not None and "peak_gib" in best:
        found["share_of_its_memory"] = round(mine["peak_gib"] / best["peak_gib"], 3)
    batch = best["batch"]
    steps = max(2, EPOCHS * (len(work.rows) // batch))
    if args.tiny:
        steps = 3
    tokens = max(LONGEST, round(batch * work.counted))
    pairs, each_s = [], 0.0
    for seed in args.seeds:
        if late(record, each_s):
            break
        begun = time.perf_counter()
        one = record.arm(
            f"{name}: trimtab, seed {seed}",
            lambda seed=seed: work.ours(kind, tokens=tokens, steps=steps, seed=seed),
        )
        other = record.arm(
            f"{name}: HF, seed {seed}",
            lambda seed=seed: work.theirs(kind, batch=batch, seed=seed, steps=steps),
        )
        each_s = time.perf_counter() - begun
        if one and other:
            pairs.append((one["scores"], other["scores"]))
    record.result["compared"][name] |= {
        "seeds": len(pairs),
        **differences(pairs, record.arms["base"]["scores"]),
    }
    record.write()
    print(name, json.dumps(record.result["compared"][name]), flush=True)


def differences(pairs, base):
    """Of each held-out set: bits a byte of both sides, and the mean difference with its 95% interval over seeds."""
    found = {}
    if not pairs:
        return found
    for each in base:
        ours, theirs = ([scores[number][each] for scores in pairs] for number in (0, 1))
        apart = [one - other for one, other in zip(ours, theirs, strict=True)]
        half = (
            STUDENT.get(len(apart), math.inf) * statistics.stdev(apart) / math.sqrt(len(apart))
            if len(apart) > 1
            else math.inf
        )
        found[each] = {
            "before": round(base[each], 4),
            "trimtab": round(statistics.mean(ours), 4),
            "hf": round(statistics.mean(theirs), 4),
            "trimtab minus hf": round(statistics.mean(apart), 4),
            "half of the 95% interval": round(half, 4) if math.isfinite(half) else None,
        }
    return found


STUDENT = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776, 6: 2.571, 7: 2.447, 8: 2.365, 9: 2.306, 10: 2.262}
"""Quantiles of Student's distribution by the number of differences, for intervals of 95%."""


def of_shape(work, shape, record):
    """Speed alone, of random weights: LoRA of a Llama-3.2-3B shape, and QLoRA of a 7B shape within 24 GB and free."""
    import lora_speed
    import torch

    args = work.args
    if late(record, 75):
        return
    method = "lora" if shape == "3b" else "qlora"
    given = argparse.Namespace(
        model=str(work.folder / JOINED), random="tiny" if args.tiny else shape, device=args.device, rank=args.rank,
        seconds=args.seconds, warm=2 if args.tiny else 15, tries=args.tries, workers=args.workers,
        batches=[2] if args.tiny else [16], tokens=[512] if args.tiny else [args.tokens], recompute=False,
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        given.model = str(lora_speed.random_model(given, folder))
        freed(args)
        rows, pad = lora_speed.rows_of(given.model, lora_speed.documents())
        capped = (None, 24e9) if shape == "7b" and args.device.type == "cuda" else (None,)
        for cap in capped:
            if cap is not None:
                torch.cuda.set_per_process_memory_fraction(
                    cap / torch.cuda.get_device_properties(0).total_memory
                )
                given.tokens, given.batches = [4096], [4]
            where = f"{method} of a {shape} shape" + (", within 24 GB" if cap else "")
            mine = record.arm(f"{where}: trimtab", lambda: lora_speed.ours(given, given.tokens[0], method))
            freed(args)
            other = (
                None
                if late(record, 40)
                else record.arm(f"{where}: HF", lambda: lora_speed.theirs(given, rows, pad, method))
            )
            freed(args)
            if mine and other:
                record.result.setdefault("compared", {})[where] = {
                    "times_as_fast": round(mine["tokens_per_second"] / max(1, other["tokens_per_second"]), 2),
                    **(
                        {"share_of_its_memory": round(mine["peak_gib"] / other["peak_gib"], 3)}
                        if "peak_gib" in other
                        else {}
                    ),
                }
                record.write()


# Small things.


def late(record, seconds):
    """Whether so much more time is not left; then it is written down."""
    if time.perf_counter() - record.begun + seconds <= 60 * record.result["minutes"]:
        return False
    record.result["ended_early"] = True
    record.write()
    return True


def warmup_of(steps):
    """Steps until the full learning rate."""
    return max(1, round(WARMUP * steps)) if steps else 0


def collate(few, pad):
    """Rows filled up; what is given has no label."""
    import torch

    longest = max(len(ids) for ids, _ in few)
    ids = torch.full((len(few), longest), pad)
    mask, labels = torch.zeros_like(ids), torch.full_like(ids, -100)
    for place, (row, given) in enumerate(few):
        ids[place, : len(row)] = torch.tensor(row)
        mask[place, : len(row)] = 1
        labels[place, 1 + given : len(row)] = ids[place, 1 + given : len(row)]
    return {"input_ids": ids, "attention_mask": mask, "labels": labels}


def batched(rows, size):
    rows = iter(rows)
    while few := list(itertools.islice(rows, size)):
        yield few


def freed(args):
    import torch

    gc.collect()
    if args.device.type == "cuda":
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
