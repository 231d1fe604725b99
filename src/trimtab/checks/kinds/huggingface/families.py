"""What is fixed by a model's family: norm, its place, positions, whether embeddings are tied where nothing is said."""

from collections.abc import Mapping
from typing import Any

from trimtab.checks.setting import Setting

_LLAMA = {"norm": "rms_norm", "norm_placement": "pre", "positions": "rotary"}
_GPT2 = {"norm": "layer_norm", "norm_placement": "pre", "positions": "learned"}
FAMILIES: dict[str, dict[str, Any]] = {
    **dict.fromkeys(
        ("llama", "mistral", "mixtral", "qwen2", "qwen2_moe", "qwen3", "qwen3_moe", "phi3"), _LLAMA
    ),
    "gemma": {**_LLAMA, "tied": True},
    "gemma2": {"norm": "rms_norm", "positions": "rotary", "tied": True},
    "gemma3_text": {"norm": "rms_norm", "positions": "rotary", "tied": True},
    "gpt2": {**_GPT2, "tied": True},
    "opt": {"norm": "layer_norm", "positions": "learned", "tied": True},
    "gpt_neox": {"norm": "layer_norm", "norm_placement": "pre", "positions": "rotary"},
    "gptj": {"norm": "layer_norm", "norm_placement": "pre", "positions": "rotary"},
    "bloom": {"norm": "layer_norm", "norm_placement": "pre", "positions": "alibi", "tied": True},
    "mpt": {"norm": "layer_norm", "norm_placement": "pre", "positions": "alibi", "tied": True},
    "t5": {"norm": "rms_norm", "norm_placement": "pre", "positions": "relative"},
    "mt5": {"norm": "rms_norm", "norm_placement": "pre", "positions": "relative"},
    "umt5": {"norm": "rms_norm", "norm_placement": "pre", "positions": "relative"},
    "longt5": {"norm": "rms_norm", "norm_placement": "pre", "positions": "relative"},
    "marian": {"norm": "layer_norm", "norm_placement": "post", "positions": "sinusoidal", "tied": True},
    "m2m_100": {"norm": "layer_norm", "norm_placement": "pre", "positions": "sinusoidal", "tied": True},
    "mbart": {"norm": "layer_norm", "norm_placement": "pre", "positions": "learned", "tied": True},
    "pegasus": {"norm": "layer_norm", "norm_placement": "pre", "positions": "sinusoidal", "tied": True},
    "bart": {"norm": "layer_norm", "norm_placement": "post", "positions": "learned", "tied": True},
    "trocr": {"norm": "layer_norm", "norm_placement": "post"},
    "bert": {"norm": "layer_norm", "norm_placement": "post", "positions": "learned"},
    "roberta": {"norm": "layer_norm", "norm_placement": "post", "positions": "learned"},
}
"""From the modelling code of transformers 5; what depends on the configuration is left out."""


def parameters_of(
    family: str, concepts: Mapping[str, Setting], settings: Mapping[str, Setting]
) -> float | None:
    """Billions of parameters where sizes fix them: decoders of the Llama shape, and GPT-2."""
    sizes = {
        name: concepts[name].value
        for name in ("hidden_size", "layers", "heads", "feed_forward", "vocab_size")
        if name in concepts
    }
    tied = concepts["tied_embeddings"].value if "tied_embeddings" in concepts else None
    if family in ("llama", "mistral", "qwen2") and len(sizes) == 5 and tied is not None:
        kv_heads = concepts["kv_heads"].value if "kv_heads" in concepts else sizes["heads"]
        return (
            _llama_shape(sizes, kv_heads, _head_size(settings, sizes), tied, biases=family == "qwen2") / 1e9
        )
    if family == "gpt2" and {"hidden_size", "layers", "vocab_size"} <= set(sizes):
        return _gpt2_shape(sizes, settings) / 1e9
    return None


def _head_size(settings: Mapping[str, Setting], sizes: Mapping[str, int]) -> int:
    said = settings.get("head_dim")
    if said is not None and isinstance(said.value, int):
        return said.value
    return sizes["hidden_size"] // max(1, sizes["heads"])


def _llama_shape(sizes: Mapping[str, int], kv_heads: int, head: int, tied: bool, *, biases: bool) -> int:
    dim, queries, pairs = sizes["hidden_size"], sizes["heads"] * head, kv_heads * head
    attention = 2 * dim * queries + 2 * dim * pairs + (queries + 2 * pairs if biases else 0)
    layer = attention + 3 * dim * sizes["feed_forward"] + 2 * dim
    return sizes["layers"] * layer + dim + sizes["vocab_size"] * dim * (1 if tied else 2)


def _gpt2_shape(sizes: Mapping[str, int], settings: Mapping[str, Setting]) -> int:
    dim = sizes["hidden_size"]
    inner = sizes.get("feed_forward", 4 * dim)
    said = settings.get("n_positions")
    positions = said.value if said is not None and isinstance(said.value, int) else 1024
    layer = 4 * dim * dim + 4 * dim + 2 * dim * inner + inner + dim + 4 * dim
    return sizes["layers"] * layer + 2 * dim + (sizes["vocab_size"] + positions) * dim
