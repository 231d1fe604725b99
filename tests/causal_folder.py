"""Pretrained language models of transformers that take milliseconds: a folder for each family that a module of
transformers computes, with random weights and the tokenizer of `pretrained_folder`."""

from pathlib import Path
from typing import Any

import torch
import transformers

from tests.pretrained_folder import NUM_IDS, write_tokenizer

SIZES: dict[str, Any] = {
    "vocab_size": NUM_IDS, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "head_dim": 16,
    "num_key_value_heads": 1, "intermediate_size": 48, "max_position_embeddings": 64, "pad_token_id": 2,
    "bos_token_id": 1, "eos_token_id": 2, "initializer_range": 0.2,
}  # fmt: skip
GEMMA = {
    "sliding_window": 8,
    "query_pre_attn_scalar": 16,
    "layer_types": ["sliding_attention", "full_attention"],
}
CLASSES: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "gpt2": (
        transformers.GPT2Config,
        transformers.GPT2LMHeadModel,
        {"n_embd": 32, "n_layer": 2, "n_head": 2, "n_positions": 64},
    ),
    "gemma": (transformers.GemmaConfig, transformers.GemmaForCausalLM, {}),
    "gemma2": (
        transformers.Gemma2Config,
        transformers.Gemma2ForCausalLM,
        {**GEMMA, "final_logit_softcapping": 3.0, "attn_logit_softcapping": 0.5},
    ),
    "gemma3_text": (transformers.Gemma3TextConfig, transformers.Gemma3ForCausalLM, GEMMA),
    "phi": (transformers.PhiConfig, transformers.PhiForCausalLM, {}),
    "phi3": (transformers.Phi3Config, transformers.Phi3ForCausalLM, {"sliding_window": 8}),
    "gpt_neox": (transformers.GPTNeoXConfig, transformers.GPTNeoXForCausalLM, {}),
    "opt": (
        transformers.OPTConfig,
        transformers.OPTForCausalLM,
        {"ffn_dim": 48, "word_embed_proj_dim": 16, "layerdrop": 0.5, "init_std": 0.2},
    ),
    "smollm3": (transformers.SmolLM3Config, transformers.SmolLM3ForCausalLM, {"no_rope_layers": [1, 0]}),
    "olmo2": (transformers.Olmo2Config, transformers.Olmo2ForCausalLM, {}),
    "starcoder2": (transformers.Starcoder2Config, transformers.Starcoder2ForCausalLM, {"sliding_window": 8}),
}
"""By `model_type`; windows and caps are small enough to matter."""
CAUSAL = (*CLASSES,)


def causal_folder(folder: Path, family: str, *, dtype: torch.dtype = torch.float32, **changes: Any) -> Path:
    """Writes a model of a family, with these changes of its settings, and its tokenizer."""
    folder.mkdir(parents=True, exist_ok=True)
    network = causal_network(family, **changes)
    network.to(dtype).save_pretrained(folder)
    write_tokenizer(folder)
    return folder


def causal_network(family: str, **changes: Any) -> Any:
    """A module with random weights, the same each time; norms and biases are random too."""
    config, model, own = CLASSES[family]
    torch.manual_seed(1)
    network = model(config(**{**SIZES, **own, **changes})).eval()
    with torch.no_grad():
        for weight in network.parameters():
            if weight.ndim == 1:
                weight.add_(torch.randn(weight.shape) * 0.1)
    return network
