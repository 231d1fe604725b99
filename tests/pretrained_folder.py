"""Pretrained models that take milliseconds: a folder in the form of Hugging Face with random weights."""

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

NUM_IDS = 270
"""Three symbols, 256 bytes, some pieces; and rows that no text uses."""
SYMBOLS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
TEMPLATE = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
"""ChatML, as SmolLM2 and Qwen write it, without marks of what the assistant says."""
SIZES: dict[str, Any] = {
    "vocab_size": NUM_IDS,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 128,
    "rms_norm_eps": 1e-5,
    "rope_theta": 500.0,
    "tie_word_embeddings": True,
}


def pretrained_folder(folder: Path, **changes: Any) -> Path:
    """Writes a Llama with these changes of its settings, its tokenizer and random weights; None removes a setting."""
    folder.mkdir(parents=True, exist_ok=True)
    settings = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], **SIZES, **changes}
    settings = {key: value for key, value in settings.items() if value is not None}
    (folder / "config.json").write_text(json.dumps(settings), encoding="utf-8")
    write_tokenizer(folder)
    save_file(tensors(settings), folder / "model.safetensors", metadata={"format": "pt"})
    return folder


def tensors(settings: dict[str, Any], *, seed: int = 1) -> dict[str, torch.Tensor]:
    """Every tensor of a Llama, or of a Qwen2 or Qwen3, of these settings."""
    generator = torch.Generator().manual_seed(seed)
    dim, inner, heads = (
        settings["hidden_size"],
        settings["intermediate_size"],
        settings["num_attention_heads"],
    )
    size = settings.get("head_dim") or dim // heads
    kept = settings["num_key_value_heads"] * size
    maps = {
        "self_attn.q_proj": (heads * size, dim),
        "self_attn.k_proj": (kept, dim),
        "self_attn.v_proj": (kept, dim),
        "self_attn.o_proj": (dim, heads * size),
        "mlp.gate_proj": (inner, dim),
        "mlp.up_proj": (inner, dim),
        "mlp.down_proj": (dim, inner),
    }
    shapes: dict[str, tuple[int, ...]] = {
        "model.embed_tokens.weight": (settings["vocab_size"], dim),
        "model.norm.weight": (dim,),
    }
    for layer in range(settings["num_hidden_layers"]):
        name = f"model.layers.{layer}"
        shapes |= {f"{name}.{each}.weight": shape for each, shape in maps.items()}
        shapes |= {f"{name}.{each}_layernorm.weight": (dim,) for each in ("input", "post_attention")}
        if settings["model_type"] == "qwen2":
            shapes |= {
                f"{name}.self_attn.{each}_proj.bias": maps[f"self_attn.{each}_proj"][:1] for each in "qkv"
            }
        if settings["model_type"] == "qwen3":
            shapes |= {f"{name}.self_attn.{each}_norm.weight": (size,) for each in "qk"}
    if not settings["tie_word_embeddings"]:
        shapes["lm_head.weight"] = shapes["model.embed_tokens.weight"]
    return {
        name: (torch.randn(shape, generator=generator) * 0.1 + (len(shape) == 1 and "norm" in name))
        for name, shape in shapes.items()
    }


def fast_tokenizer() -> Tokenizer:
    """Bytes and a few pieces, with three symbols before them."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    pieces = [*SYMBOLS, *letters, "th", "the", "Ġthe"]
    merges = [("t", "h"), ("th", "e"), ("Ġ", "the")]
    made = Tokenizer(models.BPE(vocab={piece: id for id, piece in enumerate(pieces)}, merges=merges))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens([AddedToken(each, special=True, normalized=False) for each in SYMBOLS])
    return made


def write_tokenizer(folder: Path) -> None:
    """The tokenizer with its settings: what pads is what ends, as in SmolLM2."""
    fast_tokenizer().save(str(folder / "tokenizer.json"))
    unknown, start, end = SYMBOLS
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "unk_token": unknown,
        "bos_token": start,
        "eos_token": {"content": end},
        "pad_token": end,
        "chat_template": TEMPLATE,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
