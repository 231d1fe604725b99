"""The recipes of `fit_planned.py` and the files that they name: tokenizers, and settings of models."""

import json
import lzma
import random
import subprocess
import sys
from pathlib import Path

DATA = Path(__file__).parents[1] / "src/trimtab/demo/data"
LLAMA = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "rms_norm_eps": 1e-5}
SHAPES = {
    "135m": {
        "hidden_size": 576,
        "intermediate_size": 1536,
        "num_hidden_layers": 30,
        "num_attention_heads": 9,
    },
    "1b": {
        "hidden_size": 2048,
        "intermediate_size": 8192,
        "num_hidden_layers": 16,
        "num_attention_heads": 32,
    },
}
LARGE = {"dim": 1536, "heads": 12, "kv_heads": 2, "layers": 28, "feed_forward": 8960, "bias": "qkv"}
"""Of Qwen2.5-1.5B."""


def text(tokens, *, model, longest=512, vocabulary=32000, compiled=False, recorded=True, **more):
    """A language model; `tokens` is one micro-batch, or a step and a micro-batch."""
    step, micro = tokens if isinstance(tokens, tuple) else (tokens, tokens)
    given = more.pop("step", {})
    return {
        "task": "language_model",
        "data": {
            "root": str(DATA),
            "train": [{"text": "english_train.txt.xz"}],
            "valid": {"text": "english_valid.txt.xz"},
            "tokenizer": {"kind": "pretrained", "path": "TOKENIZER", "vocabulary_size": vocabulary},
            "max_tokens": longest,
            "workers": 0,
        },
        "model": {"kind": "decoder", **model},
        "step": {
            "tokens_per_step": step,
            "tokens_per_micro_batch": micro,
            "compile": "on" if compiled else "off",
            "cuda_graph": "on" if recorded else "off",
            **given,
        },
        "length": "100 steps",
        **more,
    }


def tuned(
    tokens,
    shape,
    *,
    rank=16,
    kv_heads,
    vocabulary,
    targets="all_linear",
    quantize="none",
    dora=False,
    **more,
):
    """A pretrained model with LoRA; its weights are random here."""
    tree = text(tokens, model={"kind": "pretrained", "path": f"{shape}:{kv_heads}:{vocabulary}"}, **more)
    del tree["data"]["tokenizer"]
    adapter = {"kind": "lora", "rank": rank, "targets": targets, "quantize_base": quantize, "dora": dora}
    return {**tree, "adapter": adapter}


def pairs(tokens, *, preset, longest=128, compiled=False, recorded=True, model=None, evaluate=None, **given):
    """A translator."""
    tree = text(tokens, model={}, longest=longest, compiled=compiled, recorded=recorded, step=given)
    tree["task"] = "translation"
    tree["data"]["train"] = [{"pairs": "train.tsv.xz", "source": 1, "target": 2}]
    tree["data"]["valid"] = {"pairs": "valid.tsv.xz", "source": 1, "target": 2}
    tree["data"]["tokenizer"] = {"kind": "sentencepiece", "path": "PIECES"}
    tree["model"] = {"kind": "encoder_decoder", "preset": preset, **(model or {})}
    tree["evaluate"] = evaluate or {}
    return tree


PLAIN = {"recorded": False}
OWN = {"norm": "layer", "activation": "gelu", "bias": True, "dropout": 0.1, "positions": "learned"}
RECIPES = {
    "lm tiny, plain": text(8192, model={"preset": "tiny"}, longest=256, vocabulary=8000, **PLAIN),
    "lm small, recorded": text(32768, model={"preset": "small"}, vocabulary=16000),
    "lm small, compiled": text(32768, model={"preset": "small"}, vocabulary=16000, compiled=True),
    "lm base, plain": text(8192, model={"preset": "base"}, longest=1024, **PLAIN),
    "lm base, recorded": text(8192, model={"preset": "base"}, longest=1024),
    "lm base, compiled": text(16384, model={"preset": "base"}, longest=2048, compiled=True),
    "lm base, four micro-batches": text((32768, 8192), model={"preset": "base"}),
    "lm base, bf16": text(8192, model={"preset": "base"}, step={"precision": "bf16"}, **PLAIN),
    "lm base, adafactor": text(
        8192, model={"preset": "base"}, step={"optimizer": {"kind": "adafactor"}}, **PLAIN
    ),
    "lm base, lion and ema": text(
        4096, model={"preset": "base"}, step={"optimizer": {"kind": "lion"}, "ema": {}}
    ),
    "lm big, compiled": text(8192, model={"preset": "big"}, longest=2048, compiled=True),
    "lm big, untied, plain": text(
        4096, model={"preset": "big", "tie_embeddings": False}, longest=1024, **PLAIN
    ),
    "lm big, bf16": text(8192, model={"preset": "big"}, longest=2048, step={"precision": "bf16"}),
    "lm 1.5b, compiled": text(4096, model=LARGE, longest=2048, vocabulary=151936, compiled=True),
    "lm small, fp32": text(4096, model={"preset": "small"}, longest=256, step={"precision": "fp32"}),
    "lm small, other layers": text(16384, model={"preset": "small", **OWN}, longest=256, **PLAIN),
    "lora 135m": tuned(8192, "135m", kv_heads=3, vocabulary=49152),
    "lora 1b, compiled": tuned(4096, "1b", kv_heads=8, vocabulary=128256, rank=32, compiled=True),
    "lora 1b, queries and values": tuned(
        8192, "1b", kv_heads=8, vocabulary=128256, targets=["q_proj", "v_proj"], **PLAIN
    ),
    "mt base, plain": pairs(8192, preset="base", **PLAIN),
    "mt base, compiled": pairs(16384, preset="base", compiled=True),
    "mt base, four micro-batches": pairs((16384, 4096), preset="base"),
    "mt big, compiled": pairs(8192, preset="big", compiled=True),
    "mt big, other layers": pairs(
        8192,
        preset="big",
        model={"norm": "rms", "activation": "swiglu", "norm_position": "after", "bias": False},
        **PLAIN,
    ),
}
CALIBRATING = sorted(random.Random(23).sample(sorted(RECIPES), len(RECIPES) // 2))
"""Drawn once, by the names alone, before anything was measured."""
EIGHT = {"optimizer": {"kind": "adamw", "states": "8bit"}}
LARGER = {"dim": 2560, "heads": 32, "head_size": 128, "kv_heads": 8, "layers": 18, "feed_forward": 9728}
"""Of Qwen3-4B, with half of its layers."""
RUNGS = {
    "lm base, recompute block": text(16384, model={"preset": "base"}, step={"recompute": "block"}),
    "lm base, recompute feed-forward, compiled": text(
        16384, model={"preset": "base"}, compiled=True, step={"recompute": "feed_forward"}
    ),
    "lm base, 4-bit states": text(
        8192, model={"preset": "base"}, step={"optimizer": {"kind": "adamw", "states": "4bit"}}
    ),
    "lm base, states on the host": text(
        8192, model={"preset": "base"}, step={"offload": "optimizer_states"}, **PLAIN
    ),
    "lm big, released": text(
        8192, model={"preset": "big"}, step={"gradients": "released", "recompute": "block"}, **PLAIN
    ),
    "lm big, bf16, 24-bit weights, 8-bit states": text(
        4096,
        model={"preset": "big", "init_on": "gpu"},
        step={"precision": "bf16", "optimizer": {"kind": "adamw", "states": "8bit", "weights": "24bit"}},
    ),
    "lm 2b, bf16, released, 8-bit states": text(
        4096,
        model={**LARGER, "qk_norm": True, "init_on": "gpu"},
        longest=1024,
        vocabulary=151936,
        step={"precision": "bf16", "gradients": "released", "recompute": "block", **EIGHT},
        **PLAIN,
    ),
    "lm 2b, untied, bf16, released, no clipping": text(
        4096,
        model={**LARGER, "tie_embeddings": False, "init_on": "gpu"},
        longest=1024,
        vocabulary=151936,
        step={
            "precision": "bf16",
            "gradients": "released",
            "clip": {"kind": "off"},
            "optimizer": {"kind": "stable_adamw", "states": "4bit"},
        },
        **PLAIN,
    ),
    "qlora 1b": tuned(4096, "1b", kv_heads=8, vocabulary=128256, quantize="nf4"),
    "dora 1b, recompute block": tuned(
        8192, "1b", kv_heads=8, vocabulary=128256, dora=True, step={"recompute": "block"}
    ),
    "mt base, beam 8": pairs(8192, preset="base", evaluate={"beam": 8, "lines": None}),
    "mt big, 8-bit states, recompute block": pairs(16384, preset="big", recompute="block", **EIGHT, **PLAIN),
}
"""Settings that save memory, and an evaluation with a wide beam: chosen after the constants were set, so that all of
them judge."""


def tiny(tree):
    """The same recipe in sizes that a CPU steps through in a second."""
    model = {**tree["model"]}
    if model["kind"] != "pretrained":
        for key in ("preset", "dim", "heads", "head_size", "kv_heads", "layers", "feed_forward"):
            model.pop(key, None)
        model["preset"] = "tiny"
    step = {**tree["step"]}
    whole = step["tokens_per_step"] // step["tokens_per_micro_batch"]
    step |= {"tokens_per_step": 128 * whole, "tokens_per_micro_batch": 128}
    data = {**tree["data"], "max_tokens": 32}
    if data.get("tokenizer", {}).get("kind") == "pretrained":
        data["tokenizer"] = {**data["tokenizer"], "vocabulary_size": 512}
    few = {"text": "FEW.txt"} if "text" in data["valid"] else {**data["valid"], "pairs": "FEW.tsv"}
    data["valid"] = few
    return {
        **tree,
        "model": model,
        "step": step,
        "data": data,
        "evaluate": {**tree.get("evaluate", {}), "lines": 4},
    }


def prepared(folder, *, small):
    """Files that the recipes name: a tokenizer of bytes, one of pieces, and the settings of pretrained models."""
    byte_tokenizer(folder / "bytes")
    for name, written in {"english_valid.txt": "few.txt", "valid.tsv": "few.tsv"}.items():
        with lzma.open(DATA / f"{name}.xz", "rt", encoding="utf-8") as file:
            (folder / written).write_text("".join(next(file) for _ in range(12)), encoding="utf-8")
    out = folder / "pieces"
    lines = folder / "lines.txt"
    with lzma.open(DATA / "train.tsv.xz", "rt", encoding="utf-8") as file:
        lines.write_text("".join(line.replace("\t", "\n") for line in file), encoding="utf-8")
    size = "500" if small else "16000"
    command = [
        sys.executable,
        "-m",
        "trimtab",
        "tokenizer",
        "train",
        "--input",
        str(lines),
        "--out",
        str(out),
    ]
    subprocess.run([*command, "--vocabulary-size", size], check=True)
    for name, tree in {**RECIPES, **RUNGS}.items():
        path = tree["model"].get("path")
        if path:
            shape, kv_heads, vocabulary = path.split(":")
            sizes = SHAPES[shape] if not small else SHAPES["135m"] | {"num_hidden_layers": 2}
            settings = {
                **LLAMA,
                **sizes,
                "num_key_value_heads": int(kv_heads) if not small else 3,
                "vocab_size": int(vocabulary) if not small else 512,
                "max_position_embeddings": 4096,
                "tie_word_embeddings": True,
            }
            place = folder / name.replace(" ", "_").replace(",", "")
            byte_tokenizer(place)
            (place / "config.json").write_text(json.dumps(settings), encoding="utf-8")


def byte_tokenizer(folder):
    """Bytes and three symbols, in the form of Hugging Face."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    folder.mkdir(parents=True, exist_ok=True)
    symbols = ["<|unknown|>", "<|begin|>", "<|end|>"]
    pieces = [*symbols, *sorted(pre_tokenizers.ByteLevel.alphabet())]
    made = Tokenizer(models.BPE(vocab={piece: id for id, piece in enumerate(pieces)}, merges=[]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens([AddedToken(each, special=True, normalized=False) for each in symbols])
    made.save(str(folder / "tokenizer.json"))
    settings = {"unk_token": symbols[0], "bos_token": symbols[1], "eos_token": symbols[2]}
    settings |= {"pad_token": symbols[2], "tokenizer_class": "PreTrainedTokenizerFast"}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")


def recipe_file(name, folder, *, small):
    """The recipe as a file, its paths filled in."""
    tree = {**RECIPES, **RUNGS}[name]
    tree = tiny(tree) if small else tree
    written = name.replace(" ", "_").replace(",", "")
    if tree["model"]["kind"] == "pretrained":
        tree = {**tree, "model": {**tree["model"], "path": str(folder / written)}}
    path = folder / f"{written}.yaml"
    path.write_text(with_paths(tree, folder), encoding="utf-8")
    return path


def with_paths(tree, folder):
    """A recipe as JSON, which is YAML, with the files of `prepared`."""
    said = json.dumps(tree)
    places = {"TOKENIZER": "bytes", "PIECES": "pieces", "FEW.txt": "few.txt", "FEW.tsv": "few.tsv"}
    for name, file in places.items():
        said = said.replace(json.dumps(name), json.dumps(str(folder / file)))
    return said
