"""A language model as LlamaForCausalLM or Qwen3ForCausalLM: its settings, and the tensors that it has."""

import json
from pathlib import Path
from typing import Any

from trimtab.config.decoder_model import DecoderModel
from trimtab.config.rope_scaling import RopeScaling
from trimtab.model.norm import RMS_EPSILON
from trimtab.types import Tokenizer

ACTIVATIONS = {"swiglu": "silu", "geglu": "gelu"}
"""By our name, that of the function alone, with which both classes gate."""


def class_name(config: DecoderModel) -> str:
    """The class that computes it: only Qwen3 has norms of queries and keys, one gain for all heads, and only Qwen2 has
    biases for queries, keys and values alone."""
    if config.qk_norm:
        return "Qwen3ForCausalLM"
    return "Qwen2ForCausalLM" if config.bias == "qkv" else "LlamaForCausalLM"


def shape(config: DecoderModel, tokenizer: Tokenizer, *, window: int) -> dict[str, Any]:
    """Sizes and symbols for `config.json`; `window` is the most tokens that the model has learned to read."""
    own: dict[str, dict[str, Any]] = {
        "LlamaForCausalLM": {"mlp_bias": config.bias, "attention_bias": config.bias},
        "Qwen3ForCausalLM": {"attention_bias": config.bias},
        "Qwen2ForCausalLM": {},
    }
    return {
        "vocab_size": tokenizer.num_ids,
        "hidden_size": config.dim,
        "intermediate_size": config.feed_forward,
        "num_hidden_layers": config.layers,
        "num_attention_heads": config.heads,
        "num_key_value_heads": config.kv_heads or config.heads,
        "head_dim": config.size_of_heads,
        "hidden_act": ACTIVATIONS[config.activation],
        "max_position_embeddings": window,
        "rms_norm_eps": config.norm_epsilon or RMS_EPSILON,
        "rope_theta": config.rope_theta,
        **({} if config.rope_scaling is None else {"rope_scaling": rope_scaling(config.rope_scaling)}),
        "attention_dropout": 0.0,
        "tie_word_embeddings": config.tie_embeddings,
        **_symbols(tokenizer),
        **own[class_name(config)],
    }


def generation(tokenizer: Tokenizer) -> dict[str, Any]:
    """For `generation_config.json`: the likeliest symbol each time, never padding, start or unknown; whoever draws says
    how. No length is written: transformers takes `max_new_tokens` of the file for more than a caller's `max_length`,
    and warns of `max_length` of the file beside a caller's `max_new_tokens`."""
    never = {tokenizer.pad, tokenizer.start, tokenizer.unknown} - {tokenizer.end}
    return {"do_sample": False, "suppress_tokens": sorted(never), **_symbols(tokenizer)}


def write_settings(config: DecoderModel, tokenizer: Tokenizer, folder: Path, *, window: int) -> None:
    """Writes both files; `window` is the most tokens that the model has learned to read."""
    import transformers

    name = class_name(config)
    settings_class = getattr(transformers, name.removesuffix("ForCausalLM") + "Config")
    settings = settings_class(**shape(config, tokenizer, window=window))
    settings.architectures = [name]
    settings.save_pretrained(folder)
    _add_rope(folder / "config.json", config)
    transformers.GenerationConfig(**generation(tokenizer)).save_pretrained(folder)


def rope_scaling(scaling: RopeScaling) -> dict[str, Any]:
    """As `config.json` says it."""
    return {
        "rope_type": scaling.kind,
        "factor": scaling.factor,
        "low_freq_factor": scaling.low_frequency_factor,
        "high_freq_factor": scaling.high_frequency_factor,
        "original_max_position_embeddings": scaling.original_positions,
    }


def _add_rope(path: Path, config: DecoderModel) -> None:
    """Version 5 of transformers writes both under `rope_parameters` alone, where 4 and other tools do not look."""
    settings = {**json.loads(path.read_text(encoding="utf-8")), "rope_theta": config.rope_theta}
    if config.rope_scaling is not None:
        settings["rope_scaling"] = rope_scaling(config.rope_scaling)
    path.write_text(json.dumps(settings, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def tensor_shapes(config: DecoderModel, *, num_ids: int) -> dict[str, list[int]]:
    """The shape of every tensor by its name."""
    wide, between, size = config.dim, config.feed_forward, config.size_of_heads
    kept = (config.kv_heads or config.heads) * size
    maps = {
        "self_attn.q_proj": [config.heads * size, wide],
        "self_attn.k_proj": [kept, wide],
        "self_attn.v_proj": [kept, wide],
        "self_attn.o_proj": [wide, config.heads * size],
        "mlp.gate_proj": [between, wide],
        "mlp.up_proj": [between, wide],
        "mlp.down_proj": [wide, between],
    }
    of_layer = {f"{name}.weight": shape for name, shape in maps.items()}
    biased = {True: list(maps), "qkv": list(maps)[:3], False: []}[config.bias]
    of_layer |= {f"{name}.bias": maps[name][:1] for name in biased}
    of_layer |= {f"{name}_layernorm.weight": [wide] for name in ("input", "post_attention")}
    if config.qk_norm:
        of_layer |= {f"self_attn.{letter}_norm.weight": [size] for letter in "qk"}
    found = {"model.embed_tokens.weight": [num_ids, wide], "model.norm.weight": [wide]}
    for layer in range(config.layers):
        found |= {f"model.layers.{layer}.{name}": shape for name, shape in of_layer.items()}
    return found if config.tie_embeddings else {**found, "lm_head.weight": [num_ids, wide]}


def _symbols(tokenizer: Tokenizer) -> dict[str, int]:
    return {
        "pad_token_id": tokenizer.pad,
        "bos_token_id": tokenizer.start,
        "eos_token_id": tokenizer.end,
    }
