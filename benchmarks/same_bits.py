"""Does another checkout train, translate and export to the same bits? Small recipes on a CPU, with both.

    git worktree add /tmp/before a78c65b
    python benchmarks/same_bits.py --before /tmp/before --data CORPORA/en-de --out result.json [--jobs 2] [NAME ...]

Each recipe trains 50 steps with both checkouts and the same packages, one thread each. Compared are the tensors of both
checkpoints, losses and gradient norms of every step, and the scores of every evaluation. Then both checkouts take the
runs that the one before trained: translate, evaluate, average, resume to step 60, and export for Hugging Face.
Together the recipes have both text tasks and every part that draws random numbers. Four minutes on twelve cores.
"""

import argparse
import hashlib
import json
import lzma
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from record import Record
from safetensors.numpy import load_file

ROOT = Path(__file__).resolve().parent.parent
DEMO = ROOT / "src" / "trimtab" / "demo" / "data"
PAIRS = {"pairs": str(DEMO / "train.tsv.xz"), "source": 1, "target": 2}
VALID = {"pairs": str(DEMO / "valid.tsv.xz"), "source": 1, "target": 2}
TOKENIZER = {"kind": "sentencepiece", "vocabulary_size": 1000, "training_lines": 5000}
SIZES = {"dim": 64, "heads": 2, "layers": 2, "feed_forward": 128}
ADAMW = {"kind": "adamw", "learning_rate": 1e-3}
LINES = 60
"""Lines that are translated and scored."""
USED = ("translation", "two_tokenizers", "context", "lm", "lm_bytes_ema")
"""Recipes whose runs are taken up again."""


def translation(*, data: dict = {}, model: dict = {}, loss: dict = {}, step: dict = {}) -> dict[str, Any]:  # noqa: B006
    """A recipe for translation with these changes, each of which replaces a key of its group."""
    texts = {"train": [PAIRS], "valid": {"v": VALID}, "tokenizer": TOKENIZER, "max_tokens": 64, "workers": 0}
    micro = {"tokens_per_step": 1024, "tokens_per_micro_batch": 512}
    rate = {"optimizer": ADAMW, "schedule": {"kind": "linear_warmup", "warmup": "10 steps"}}
    return {
        "task": "translation",
        "data": texts | data,
        "model": {"kind": "encoder_decoder", **SIZES, "dropout": 0.1} | model,
        "loss": {"label_smoothing": 0.1} | loss,
        "step": micro | rate | step,
        "length": "50 steps",
        "evaluate": {"every": "25 steps", "lines": 20},
        "checkpoint": {"every": "25 steps"},
        "seed": 3,
    }


def language_model(*, data: dict = {}, model: dict = {}, **groups: dict) -> dict[str, Any]:  # noqa: B006
    """The same for a language model."""
    texts = {
        "train": [{"text": str(DEMO / "english_train.txt.xz")}],
        "valid": {"v": {"text": str(DEMO / "english_valid.txt.xz")}},
    }
    shape = {"kind": "decoder", **SIZES, "dropout": 0.0}
    recipe = translation(data=texts | data, model=shape | model, **groups)
    return recipe | {
        "task": "language_model",
        "evaluate": {"every": "25 steps"},
        "loss": groups.get("loss", {}),
    }


def recipes(corpora: Path) -> dict[str, dict[str, Any]]:
    """All recipes by name."""
    ui = {"source": str(corpora / "ui/train.en.xz"), "target": str(corpora / "ui/train.de.xz"), "name": "ui"}
    both = {"tags": ["<2de>"], "both_directions": True, "reverse_tags": ["<2en>"], "weight": 2.0}
    documents = [
        {"documents": str(corpora / f"docs/{split}.jsonl.xz"), "source": "src", "target": "tgt"}
        for split in ("train", "dev")
    ]
    context = {"kind": "context", "sentences": 2, "sides": "both"}
    filters = [
        {"kind": "normalize"},
        {"kind": "length", "max": 40},
        {"kind": "ratio", "max": 3.0},
        {"kind": "character_run"},
        {"kind": "protect"},
    ]
    text = {"text": str(DEMO / "english_valid.txt.xz"), "name": "text"}
    spoil = {"kind": "denoise", "delete": 0.1, "shuffle": 3, "mask": 0.1}
    stages = [{"until": "20 steps", "weights": {"ui": 0}}, {"weights": {"ui": 4}}]
    sampling = {"sampling": {"kind": "subword_regularization"}}
    merges = {"model": "bpe", "sampling": {"kind": "bpe_dropout"}}
    modern = {"positions": "rotary", "norm": "rms", "activation": "swiglu", "kv_heads": 1, "bias": False}
    cosine = {"schedule": {"kind": "cosine", "warmup": "5 steps"}, "ema": {}}
    grow = {"batch_warmup": {"start": 128, "over": "20 steps"}, "weight_clip": 1000}
    rates = {"weight_decay": 0.1, "learning_rate_multipliers": {"embedding": 2.0, "output": 0.5}}
    return {
        "translation": translation(),
        "subword_regularization": translation(data={"tokenizer": TOKENIZER | sampling}),
        "bpe_dropout": translation(data={"tokenizer": TOKENIZER | merges}),
        "two_corpora_both_directions": translation(
            data={
                "train": [PAIRS | both, ui | {"tags": ["<2de>"]}],
                "valid": {"v": VALID | {"tags": ["<2de>"]}},
                "temperature": 5,
            }
        ),
        "stages": translation(data={"train": [PAIRS, ui], "stages": stages}),
        "denoise": translation(data={"train": [PAIRS, text], "transforms": [spoil]}),
        "filters_protect": translation(data={"transforms": filters}),
        "context": translation(
            data={
                "train": documents[:1],
                "valid": {"v": documents[1]},
                "transforms": [context],
                "max_tokens": 128,
            }
        ),
        "rotary_rms_swiglu": translation(model=modern | {"norm_position": "after"}),
        "two_tokenizers": translation(
            model={"positions": "learned", "decoder_positions": "none", "tie_embeddings": "decoder"},
            data={"source_tokenizer": TOKENIZER},
        ),
        "lion_cosine_ema": translation(step={"optimizer": {"kind": "lion", "learning_rate": 1e-4}} | cosine),
        "adafactor_z_loss_truncate": translation(
            step={"optimizer": {"kind": "adafactor", "learning_rate": 1e-3}},
            loss={"z_loss": 1e-4, "truncate": {"after": "10 steps"}},
        ),
        "sgd_batch_warmup": translation(step={"optimizer": {"kind": "sgd", "learning_rate": 0.1}} | grow),
        "stable_adamw_rates": translation(
            model={"tie_embeddings": "none"}, step={"optimizer": ADAMW | {"kind": "stable_adamw"} | rates}
        ),
        "lm": language_model(model={"qk_norm": True}),
        "lm_dropout_z_loss": language_model(
            model={"dropout": 0.1, "tie_embeddings": False},
            loss={"z_loss": 1e-4},
            step={"optimizer": ADAMW | {"weight_decay": 0.1}},
        ),
        "lm_bytes_ema": language_model(
            data={"tokenizer": {"kind": "bytes"}, "max_tokens": 200},
            model={"kv_heads": 1, "activation": "gelu", "norm": "layer", "positions": "learned"},
            step={"ema": {}},
        ),
        "lm_pairs_prefix": language_model(
            data={"train": [PAIRS], "valid": {"v": VALID}, "max_tokens": 128},
            model={"prefix": "bidirectional", "dropout": 0.1},
        ),
    }


def main() -> None:
    """Trains, uses and compares."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="recipes; default all")
    parser.add_argument("--before", type=Path, required=True, help="another checkout")
    parser.add_argument("--data", type=Path, required=True, help="holds {ui,docs}/train.…")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    checkouts = {"before": args.before.resolve(), "after": ROOT}
    record = Record(
        args.out, question="does another checkout train and export to the same bits?", device="cpu"
    )
    known = recipes(args.data.resolve())
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(args.jobs) as pool:
        place = Path(folder)
        jobs = {
            name: {
                when: pool.submit(trained, known[name], name, checkouts[when], place / when)
                for when in checkouts
            }
            for name in args.names or known
        }
        for name, pair in jobs.items():
            record.arm(name, partial(compared, {when: job.result() for when, job in pair.items()}))
        uses = {
            name: {
                when: pool.submit(
                    used, place / "before" / name, known[name], checkouts[when], place / f"{when}_use"
                )
                for when in checkouts
            }
            for name in USED
            if name in jobs
        }
        for name, pair in uses.items():
            record.arm(
                f"{name} taken up", partial(compared, {when: job.result() for when, job in pair.items()})
            )
    different = [name for name, arm in record.arms.items() if arm["different"]]
    print(f"{len(record.arms) - len(different)} of {len(record.arms)} the same", *different)
    raise SystemExit(bool(different or record.result["failed"]))


def compared(of: dict[str, dict[str, str]]) -> dict[str, Any]:
    """What is the same in both, with its fingerprint, and the names of what is not."""
    before, after = of["before"], of["after"]
    names = sorted(before.keys() | after.keys())
    return {
        "different": [name for name in names if before.get(name) != after.get(name)],
        "same": {name: before[name] for name in names if before.get(name) == after.get(name)},
    }


def trained(recipe: dict[str, Any], name: str, checkout: Path, place: Path) -> dict[str, str]:
    """Fingerprints of what the recipe's run leaves."""
    place.mkdir(exist_ok=True)
    run, path = place / name, place / f"{name}.yaml"
    path.write_text(json.dumps(recipe), encoding="utf-8")
    trimtab(checkout, "train", path, "--out", run)
    found = {
        f"{file.parent.name}/{file.name}": tensors(file) for file in run.glob("checkpoints/*/*.safetensors")
    }
    for file, keys in (
        ("metrics", ("step", "loss", "grad_norm")),
        ("evaluations", ("step", "loss", "bleu", "chrf")),
    ):
        rows = [json.loads(line) for line in (run / f"{file}.jsonl").read_text(encoding="utf-8").splitlines()]
        found[file] = fingerprint(json.dumps([[row.get(key) for key in keys] for row in rows]).encode())
    return found


def used(run: Path, recipe: dict[str, Any], checkout: Path, place: Path) -> dict[str, str]:
    """Fingerprints of what commands make of a run."""
    place = place / run.name
    place.mkdir(parents=True)
    found = {}
    with lzma.open(DEMO / "valid.tsv.xz", "rt", encoding="utf-8") as file:
        rows = [line.split("\t")[:2] for line in file][:LINES]
    source, reference = place / "source.txt", place / "reference.txt"
    source.write_text("".join(f"{row[0].strip()}\n" for row in rows), encoding="utf-8")
    reference.write_text("".join(f"{row[1].strip()}\n" for row in rows), encoding="utf-8")
    if recipe["task"] == "translation":
        output = place / "output.txt"
        trimtab(checkout, "translate", run, "--input", source, "--output", output, "--beam", "3")
        found["translate"] = fingerprint(output.read_bytes())
        told = trimtab(checkout, "evaluate", run, "--source", source, "--reference", reference, "--json")
    else:
        told = trimtab(checkout, "evaluate", run, "--text", source, "--json")
    scores = json.loads(told)
    timed = {key: value for key, value in scores.items() if "second" not in key and isinstance(value, float)}
    found["evaluate"] = fingerprint(json.dumps(timed, sort_keys=True).encode())
    trimtab(checkout, "average", run, "--last", "2", "--out", place / "average")
    found["average"] = tensors(next((place / "average").rglob("model.safetensors")))
    shutil.copytree(run, place / "resumed")
    resumed = place / "resumed"
    trimtab(checkout, "train", resumed / "recipe.yaml", "--out", resumed, "--resume", "length=60 steps")
    found["resumed"] = tensors(place / "resumed/checkpoints/step-00000060/model.safetensors")
    if recipe["data"]["tokenizer"] == TOKENIZER and "source_tokenizer" not in recipe["data"]:
        trimtab(checkout, "export", run, "--to", "hf", "--out", place / "hf")
        found["exported"] = tensors(place / "hf" / "model.safetensors")
    return found


def trimtab(checkout: Path, *arguments: object) -> str:
    """The output of a checkout's command, on one thread of the CPU."""
    one_thread = {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    places = {"PYTHONPATH": str(checkout / "src")}
    command = [sys.executable, "-m", "trimtab", *map(str, arguments)]
    done = subprocess.run(command, env=os.environ | one_thread | places, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}\n{(done.stdout + done.stderr)[-600:]}")
    return done.stdout


def tensors(path: Path) -> str:
    """The fingerprint of all tensors of a file, whatever else it says."""
    parts = (
        name.encode() + np.ascontiguousarray(values).tobytes()
        for name, values in sorted(load_file(path).items())
    )
    return fingerprint(b"".join(parts))


def fingerprint(content: bytes) -> str:
    """The first 16 digits of its SHA-256."""
    return hashlib.sha256(content).hexdigest()[:16]


if __name__ == "__main__":
    main()
