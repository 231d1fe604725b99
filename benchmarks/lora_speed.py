"""LoRA, DoRA and QLoRA on the same documents, by trimtab and by Hugging Face's Trainer with PEFT (and bitsandbytes):
real tokens a second and peak memory.

    python benchmarks/lora_speed.py --model DIR_OR_GGUF --out results/lora_speed.json
    python benchmarks/lora_speed.py --model DIR_OR_GGUF --methods lora dora qlora --seconds 30 --tries 6 --batches 64
    python benchmarks/lora_speed.py --model TOKENIZER --random 7b --methods qlora --memory-gib 24 0 --recompute \\
        --tokens 2048 8192 --batches 2 8 32 --seconds 12 --tries 4 --warm 12 --out results/qlora_7b.json

The last caps what each side may allocate at 24 GiB, and then at nothing; what does not fit is recorded, and the others
continue. TOKENIZER is a folder with config.json and tokenizer.json alone: the weights are random, of the shape of
Llama-2-7B. `--recompute` has both sides recompute activations. Without bitsandbytes the peer's arm is recorded as
failed, and trimtab's, which needs it too. About nine minutes on an H200, half of it writing and reading 13 GB.

Documents of the package's own sample (about 210 tokens of SmolLM2 each, cut at 512), all linear layers, rank 32, bf16.
Trainer groups by length and takes the best of several batch sizes; trimtab packs. Eight minutes on an H200 with the
sizes that are set; `--seconds 3 --tries 1 --batches 2 --tokens 1024` tries it on a CPU.
"""

import argparse
import dataclasses
import gc
import json
import lzma
import statistics
import tempfile
import time
from importlib.resources import files
from pathlib import Path

import torch
from record import Record
from timed_run import timed_run

from trimtab.config.pretrained.place import GGUF, find_pretrained
from trimtab.config.tokenizer import PretrainedTokenizer
from trimtab.data.pretrained_tokenizer import read_pretrained
from trimtab.data.text_rows import split
from trimtab.export.hf.pretrained_tokenizer import write_pretrained_tokenizer

SHAPES = {
    "tiny": {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4},
    "7b": {
        "hidden_size": 4096,
        "intermediate_size": 11008,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": 32,
        "tie_word_embeddings": False,
    },
    "3b": {
        "vocab_size": 128256,
        "hidden_size": 3072,
        "intermediate_size": 8192,
        "num_hidden_layers": 28,
        "num_attention_heads": 24,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "rms_norm_eps": 1e-5,
        "rope_theta": 500000.0,
    },
}
"""Of `--random`: those of Llama-2-7B and of Llama-3.2-3B."""
METHODS = {
    "lora": ({}, {}),
    "dora": ({"dora": True}, {"use_dora": True}),
    "qlora": ({"quantize_base": "nf4"}, {}),
}
"""What each is in a recipe's `adapter`, and in PEFT's LoraConfig."""
LONGEST = 512
RATE = 2e-4
TARGETS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
WARM_STEPS, WARM_SECONDS = 5, 10.0
"""Before a window of Trainer: in its first seconds it starts its workers and fills its queues."""
REPETITIONS = 3


def documents():
    """Texts between blank lines."""
    data = files("trimtab.demo") / "data" / "english_train.txt.xz"
    return lzma.decompress(data.read_bytes()).decode().split("\n\n")


def random_model(args, folder):
    """A folder with random weights of a shape, and the tokenizer of `--model`."""
    from transformers import LlamaConfig, LlamaForCausalLM

    place = find_pretrained(args.model, folder=Path.cwd())
    tokenizer = read_pretrained(PretrainedTokenizer(path=str(place.path)), key="--model")
    shape = {"vocab_size": tokenizer.num_ids, "tie_word_embeddings": True, **SHAPES[args.random]}
    torch.manual_seed(1)
    with torch.device(args.device):
        model = LlamaForCausalLM(LlamaConfig(**shape, max_position_embeddings=8192))
    model.to(torch.bfloat16).save_pretrained(folder)
    write_pretrained_tokenizer(tokenizer, Path(folder), window=8192)
    return folder


def rows_of(model, texts):
    """Ids of each document as trimtab cuts it, the start symbol first; and the id that pads."""
    place = find_pretrained(model, folder=Path.cwd())
    tokenizer = read_pretrained(PretrainedTokenizer(path=str(place.path)), key="--model")
    rows = []
    for ids in tokenizer.ids(texts):
        rows += [[tokenizer.start, *row.ids] for row in split([*ids, tokenizer.end], LONGEST, given=[])]
    return rows, tokenizer.pad


def ours(args, tokens, method):
    """A run of trimtab with steps of so many tokens, each one pack."""
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "train.txt"
        text.write_text("\n\n".join(documents()), encoding="utf-8")
        tree = {
            "task": "language_model",
            "data": {"train": [{"text": str(text)}], "max_tokens": LONGEST},
            "model": {"kind": "pretrained", "path": str(Path(args.model).absolute())},
            "adapter": {"kind": "lora", "rank": args.rank, **METHODS[method][0]},
            "step": {
                "tokens_per_step": tokens,
                "tokens_per_micro_batch": tokens,
                "optimizer": {"kind": "adamw", "learning_rate": RATE},
                "schedule": {"kind": "constant"},
                "compile": "on" if args.device.type == "cuda" else "off",
                **({"recompute": "block"} if args.recompute else {}),
            },
            "length": "1000000 steps",
            "checkpoint": {"every": "1000000 steps"},
        }
        recipe = Path(folder) / "lora.yaml"
        recipe.write_text(json.dumps(tree), encoding="utf-8")
        return timed_run([], warm_steps=args.warm, seconds=args.seconds, recipe=recipe, checked=False)


def peft_model(args, method):
    """The base in bf16, or in 4 bits, with PEFT's adapter on all linear layers, as its users load it."""
    from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training
    from transformers import AutoModelForCausalLM, BitsAndBytesConfig

    place = find_pretrained(args.model, folder=Path.cwd()).path
    given = {"gguf_file": place.name} if place.suffix == GGUF else {}
    cuda = args.device.type == "cuda"
    dtype = torch.bfloat16 if cuda else torch.float32
    if method == "qlora":
        given["device_map"] = {"": args.device}
        given["quantization_config"] = BitsAndBytesConfig(
            load_in_4bit=True,
            bnb_4bit_quant_type="nf4",
            bnb_4bit_use_double_quant=True,
            bnb_4bit_compute_dtype=dtype,
        )
    model = AutoModelForCausalLM.from_pretrained(
        place.parent if place.suffix == GGUF else place,
        dtype=dtype,
        attn_implementation="sdpa",
        **given,
    )
    if method == "qlora":
        model = prepare_model_for_kbit_training(model, use_gradient_checkpointing=False)
    else:
        model = model.to(args.device)
    model.config.use_cache = False
    config = LoraConfig(
        r=args.rank,
        lora_alpha=args.rank,
        lora_dropout=0.0,
        target_modules=list(TARGETS),
        task_type="CAUSAL_LM",
        **METHODS[method][1],
    )
    return get_peft_model(model, config)


class Clock:
    """Real tokens between two moments, with the device at rest at both."""

    def __init__(self, args):
        self.args, self.tokens, self.marks = args, 0, []

    def mark(self):
        if self.args.device.type == "cuda":
            torch.cuda.synchronize()
        self.marks.append((time.perf_counter(), int(self.tokens)))

    def rates(self):
        pairs = zip(self.marks, self.marks[1:], strict=False)
        return [(after[1] - before[1]) / (after[0] - before[0]) for before, after in pairs]


def trained(args, rows, pad, model, *, batch, windows, seconds):
    """The rate of each window of so many seconds, with this many rows in a batch."""
    from transformers import Trainer, TrainerCallback, TrainingArguments

    clock, begun = Clock(args), time.perf_counter()

    class Counting(Trainer):
        def training_step(self, model, inputs, *rest, **more):
            clock.tokens = clock.tokens + inputs["attention_mask"].sum()
            return super().training_step(model, inputs, *rest, **more)

    class Windows(TrainerCallback):
        def on_step_end(self, arguments, state, control, **rest):
            now = time.perf_counter()
            warm = state.global_step >= WARM_STEPS and now - begun >= min(WARM_SECONDS, seconds)
            if (clock.marks and now - clock.marks[-1][0] >= seconds) or (not clock.marks and warm):
                clock.mark()
            control.should_training_stop = len(clock.marks) > windows

    def collate(few):
        longest = max(len(each["input_ids"]) for each in few)
        ids = torch.full((len(few), longest), pad)
        mask = torch.zeros_like(ids)
        for place, each in enumerate(few):
            ids[place, : len(each["input_ids"])] = torch.tensor(each["input_ids"])
            mask[place, : len(each["input_ids"])] = 1
        return {"input_ids": ids, "attention_mask": mask, "labels": ids.masked_fill(mask == 0, -100)}

    cuda = args.device.type == "cuda"
    known = {field.name for field in dataclasses.fields(TrainingArguments)}
    recomputes = (
        "activation_checkpointing" if "activation_checkpointing" in known else "gradient_checkpointing"
    )
    if cuda:
        torch.cuda.reset_peak_memory_stats()
    with tempfile.TemporaryDirectory() as folder:
        settings = TrainingArguments(
            folder,
            per_device_train_batch_size=batch,
            max_steps=10**6,
            learning_rate=RATE,
            lr_scheduler_type="constant",
            bf16=cuda,
            use_cpu=not cuda,
            logging_steps=10**6,
            save_strategy="no",
            report_to=[],
            dataloader_num_workers=args.workers,
            remove_unused_columns=False,
            disable_tqdm=True,
            train_sampling_strategy="group_by_length",
            length_column_name="length",
            **({recomputes: True} if args.recompute else {}),
        )
        data = [{"input_ids": row, "length": len(row)} for row in rows]
        Counting(
            model=model, args=settings, train_dataset=data, data_collator=collate, callbacks=[Windows()]
        ).train()
    found = {"batch": batch, "each": [round(rate) for rate in clock.rates()]}
    if cuda:
        found["peak_gib"] = round(torch.cuda.max_memory_allocated() / 2**30, 2)
    return found


def freed(args):
    gc.collect()
    if args.device.type == "cuda":
        torch.cuda.empty_cache()


def theirs(args, rows, pad, method):
    """A short window for each size of a batch, then long ones with the best; all of one model, whose loading takes
    longer than a window."""
    model, tried = peft_model(args, method), []
    for batch in args.batches:
        try:
            tried.append(trained(args, rows, pad, model, batch=batch, windows=1, seconds=args.tries))
        except torch.cuda.OutOfMemoryError:
            tried.append({"batch": batch, "each": [0], "error": "out of memory"})
            model.zero_grad(set_to_none=True)
        freed(args)
        print("HF + PEFT", method, tried[-1], flush=True)
    best = max(tried, key=lambda each: each["each"][0])["batch"]
    found = trained(
        args,
        rows,
        pad,
        model,
        batch=best,
        windows=REPETITIONS,
        seconds=args.seconds / REPETITIONS,
    )
    del model
    freed(args)
    return {"tokens_per_second": round(statistics.median(found["each"])), **found, "tried": tried}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", required=True, help="folder of Hugging Face, or a .gguf file")
    parser.add_argument("--out", default="lora_speed.json")
    parser.add_argument("--rank", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=60.0, help="measured of each side")
    parser.add_argument("--tries", type=float, default=12.0, help="seconds for each batch size of Trainer")
    parser.add_argument("--batches", type=int, nargs="+", default=[4, 16, 64, 128])
    parser.add_argument("--tokens", type=int, nargs="+", default=[16384, 32768], help="of a step of trimtab")
    parser.add_argument("--warm", type=int, default=40, help="steps of trimtab before its window")
    parser.add_argument("--workers", type=int, default=4, help="of Trainer's loader")
    parser.add_argument(
        "--random", choices=[*SHAPES], help="random weights of this shape, the tokenizer of --model"
    )
    parser.add_argument("--only", choices=["ours", "theirs"])
    parser.add_argument("--methods", choices=[*METHODS], nargs="+", default=["lora"])
    parser.add_argument("--recompute", action="store_true", help="recompute activations on both sides")
    parser.add_argument(
        "--memory-gib",
        type=float,
        nargs="+",
        default=[0.0],
        help="that each side may allocate; 0 for all there is",
    )
    args = parser.parse_args()
    record = Record(
        args.out,
        question="adapters: trimtab against HF Trainer + PEFT",
        rank=args.rank,
        recompute=args.recompute,
    )
    args.device = record.device
    with tempfile.TemporaryDirectory() as folder:
        if args.random:
            args.model = random_model(args, folder)
            freed(args)
        measured(args, record)


def measured(args, record):
    """Both sides under each bound of memory, and how they compare."""
    rows, pad = rows_of(args.model, documents())
    lengths = [len(row) for row in rows]
    record.result["shape"] = args.random or "as it is"
    record.result["rows"] = {"count": len(rows), "mean": statistics.mean(lengths), "longest": max(lengths)}
    for gib in args.memory_gib:
        bound(args, gib)
        below = f", {gib:g} GiB" if gib else ""
        for method in args.methods:
            name = f"{method}{below}"
            for tokens in args.tokens if args.only != "theirs" else ():
                record.arm(
                    f"{name}: trimtab {tokens}",
                    lambda tokens=tokens, method=method: ours(args, tokens, method),
                )
                freed(args)
            if args.only != "ours":
                record.arm(
                    f"{name}: HF Trainer + PEFT", lambda method=method: theirs(args, rows, pad, method)
                )
                freed(args)
            compare(record, name)


def bound(args, gib):
    """Caps what this process may allocate on the card."""
    if args.device.type == "cuda":
        whole = torch.cuda.get_device_properties(args.device).total_memory / 2**30
        torch.cuda.set_per_process_memory_fraction(min(1.0, gib / whole) if gib else 1.0)


def compare(record, method):
    """How many times as fast, and with what share of the memory."""
    peer = record.arms.get(f"{method}: HF Trainer + PEFT")
    mine = [each for name, each in record.arms.items() if name.startswith(f"{method}: trimtab")]
    if not peer or not mine:
        return
    best = max(mine, key=lambda each: each["tokens_per_second"])
    found = {"times_as_fast": round(best["tokens_per_second"] / max(1, peer["tokens_per_second"]), 2)}
    if "peak_gib" in peer:
        found["share_of_its_memory"] = round(best["peak_gib"] / peer["peak_gib"], 3)
    record.result.setdefault("compared", {})[method] = found
    record.write()
    print(method, found, flush=True)


if __name__ == "__main__":
    main()
