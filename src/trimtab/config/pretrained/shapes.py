"""The settings of a pretrained model as keys of `model`: what Llama, Mistral, Qwen2 and Qwen3 mean by theirs.

What the native decoder cannot compute exactly is refused by its name.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from trimtab.config.pretrained.families import classes_of
from trimtab.config.pretrained.gguf_header import GgufHeader, read_gguf_header
from trimtab.config.pretrained.place import CONFIG, Place
from trimtab.errors import InputError, Problem, input_error, unreadable

MODEL_TYPES = ("llama", "mistral", "qwen2", "qwen3")
SUPPORTED = "LlamaForCausalLM, MistralForCausalLM, Qwen2ForCausalLM, Qwen3ForCausalLM"
MOST_BYTES = 10_000_000
NEEDED = (
    "vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "rms_norm_eps",
    "max_position_embeddings",
)  # fmt: skip
MAY_BE_ABSENT = ("num_key_value_heads", "head_dim", "sliding_window")
GROUPS = ("rope_scaling", "rope_parameters")
SWITCHES = ("tie_word_embeddings", "attention_bias", "mlp_bias", "use_sliding_window")
OF_FILES = {
    "dim": "hidden_size",
    "heads": "num_attention_heads",
    "kv_heads": "num_key_value_heads",
    "head_size": "head_dim",
    "positions": "head_dim",
    "layers": "num_hidden_layers",
    "feed_forward": "intermediate_size",
    "norm_epsilon": "rms_norm_eps",
    "rope_theta": "rope_theta",
    "rope_scaling": "rope_scaling",
    "num_ids": "vocab_size",
}
"""Keys of `model`, and what `config.json` calls what decides them."""
LARGEST = 10_000_000
"""Of a size."""
FREQUENCIES = ("factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings")
"""What a scaling of Llama 3 says."""


@dataclass(frozen=True, slots=True)
class Found:
    """What the files of a pretrained model say."""

    shape: dict[str, Any]
    """Keys of `model` and their values."""
    window: int
    """The longest text it has learned to read or write, in tokens."""
    images: dict[str, Any] = field(default_factory=dict[str, Any])
    """Keys of `data.images` and their values, for a model that reads images."""


def read_shape(place: Place) -> Found:
    """The shape of the model at a place; InputError with every setting that the native decoder has no place for."""
    if place.is_gguf:
        return _of_gguf(read_gguf_header(place.path), place.path)
    path = place.path / CONFIG
    return shape_of(read_settings(path), name=str(path))


def read_settings(path: Path) -> dict[str, Any]:
    """A JSON file of settings; InputError if it is none."""
    try:
        with path.open("rb") as file:
            text = file.read(MOST_BYTES)
    except OSError as error:
        raise unreadable(error, path) from None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise input_error(
            f"{path}: not valid JSON", got=str(error)[:200], fix="download the file again"
        ) from None
    if not isinstance(found, dict):
        raise input_error(
            f"{path}: not the settings of a model", got="no object", fix="download the file again"
        )
    return cast("dict[str, Any]", found)


def shape_of(settings: Mapping[str, Any], *, name: str) -> Found:
    """The shape that the settings of `config.json` describe; `name` is for messages."""
    kind = settings.get("model_type")
    if kind not in MODEL_TYPES:
        raise input_error(
            f"{name}: this architecture does not load into the native decoder",
            got=classes_of(settings) or f"model_type {kind}",
            allowed=SUPPORTED,
            fix="take a model of one of these families, such as SmolLM2, Llama, Mistral or Qwen3",
        )
    if missing := [key for key in NEEDED if settings.get(key) is None]:
        raise input_error(
            f"{name}: settings of the model are missing",
            got=f"no {', '.join(missing)}",
            allowed="the config.json as the model's authors wrote it",
            fix="download the file again",
        )
    if problems := [*_not_valid(settings, name)] or [*_not_computed(settings, name)]:
        raise InputError(*problems)
    heads, dim = settings["num_attention_heads"], settings["hidden_size"]
    biased = bool(settings.get("attention_bias", False))
    shape: dict[str, Any] = {
        "dim": dim,
        "heads": heads,
        "kv_heads": settings.get("num_key_value_heads") or heads,
        "head_size": settings.get("head_dim") or dim // heads,
        "layers": settings["num_hidden_layers"],
        "feed_forward": settings["intermediate_size"],
        "norm_epsilon": settings["rms_norm_eps"],
        "rope_theta": float(_base(settings) or 10000.0),
        "rope_scaling": _scaling(settings),
        "qk_norm": kind == "qwen3",
        "bias": "qkv" if kind == "qwen2" else biased,
        "tie_embeddings": bool(settings.get("tie_word_embeddings", False)),
        "num_ids": settings["vocab_size"],
    }
    shape = {key: value for key, value in shape.items() if value is not None}
    window = (
        settings.get("sliding_window") if kind == "mistral" or settings.get("use_sliding_window") else None
    )
    return Found(
        shape, min(settings["max_position_embeddings"], window or settings["max_position_embeddings"])
    )


def _not_valid(settings: Mapping[str, Any], name: str) -> Iterator[Problem]:
    """A problem for each setting that is of another type than it has to be, or out of range."""
    sizes = {key: settings[key] for key in NEEDED if key != "rms_norm_eps"}
    sizes |= {key: settings[key] for key in MAY_BE_ABSENT if settings.get(key) is not None}
    rope = _rope(settings)
    reals = {"rms_norm_eps": settings["rms_norm_eps"]}
    if (base := _base(settings)) is not None:
        reals["rope_theta"] = base
    if (rope.get("rope_type") or rope.get("type")) == "llama3":
        reals |= {f"rope_scaling.{key}": rope.get(key) for key in FREQUENCIES}
    for key in GROUPS:
        if settings.get(key) is not None and not isinstance(settings[key], Mapping):
            yield _not_of_type(name, key, settings[key], "an object, or null")
    for key in SWITCHES:
        if settings.get(key) is not None and not isinstance(settings[key], bool):
            yield _not_of_type(name, key, settings[key], "true or false")
    for key, value in sizes.items():
        if type(value) is not int or not 1 <= value <= LARGEST:
            yield _not_of_type(name, key, value, f"a whole number from 1 to {LARGEST:,}")
    for key, value in reals.items():
        if type(value) not in (int, float) or not 0 < value < 1e15:
            yield _not_of_type(name, key, value, "a number above 0")


def names_in_files(place: Place) -> dict[str, str]:
    """What the files of a model call the keys of `model` that they fill in, each behind the name of the file."""
    if place.is_gguf:
        return {key: f"{place.path}: llama.{GGUF_KEYS.get(name, name)}" for key, name in OF_FILES.items()}
    return {key: f"{place.path / CONFIG}: {name}" for key, name in OF_FILES.items()}


def _not_of_type(name: str, key: str, value: Any, allowed: str) -> Problem:
    return Problem(
        what=f"{name}: {key} is missing or not valid",
        got=str(value)[:80],
        allowed=allowed,
        fix="download the file again",
    )


def _rope(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    return _group(settings, "rope_scaling") or _group(settings, "rope_parameters")


def _base(settings: Mapping[str, Any]) -> Any:
    """What rotary angles are computed from; None where nothing says it."""
    own = settings.get("rope_theta")
    return _group(settings, "rope_parameters").get("rope_theta") if own is None else own


def _scaling(settings: Mapping[str, Any]) -> dict[str, Any] | None:
    """The key `rope_scaling` of a model of Llama 3.1 and later."""
    rope = _rope(settings)
    if (rope.get("rope_type") or rope.get("type")) != "llama3":
        return None
    return {
        "kind": "llama3",
        "factor": rope["factor"],
        "low_frequency_factor": rope["low_freq_factor"],
        "high_frequency_factor": rope["high_freq_factor"],
        "original_positions": rope["original_max_position_embeddings"],
    }


def _not_computed(settings: Mapping[str, Any], name: str) -> Iterator[Problem]:
    """A problem for each setting that the native decoder has nothing for."""
    rope = _rope(settings)
    scaling: Any = rope.get("rope_type") or rope.get("type") or "default"
    biased = bool(settings.get("attention_bias", False))
    found: dict[str, tuple[Any, tuple[Any, ...]]] = {
        "hidden_act": (settings.get("hidden_act", "silu"), ("silu", "swish")),
        "rope_scaling": (scaling, ("default", "llama3")),
        "mlp_bias": (bool(settings.get("mlp_bias", False)), (biased,)),
        "attention_bias": (biased, (False,) if settings["model_type"] != "llama" else (False, True)),
        "pretraining_tp": (settings.get("pretraining_tp", 1), (1,)),
        "partial_rotary_factor": (settings.get("partial_rotary_factor", 1.0), (1.0,)),
        "no_rope_layers": (settings.get("no_rope_layers") or None, (None,)),
        "quantization_config": (settings.get("quantization_config"), (None,)),
    }
    for key, (got, allowed) in found.items():
        if got not in allowed:
            yield Problem(
                what=f"{name}: the native decoder cannot compute {key} as it is here",
                got=f"{key}: {str(got)[:80]}",
                allowed=" or ".join(map(str, allowed)),
                fix="take a model without it",
            )


def _group(settings: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = settings.get(key)
    return cast("Mapping[str, Any]", found) if isinstance(found, Mapping) else {}


GGUF_KEYS = {
    "hidden_size": "embedding_length",
    "intermediate_size": "feed_forward_length",
    "num_hidden_layers": "block_count",
    "num_attention_heads": "attention.head_count",
    "num_key_value_heads": "attention.head_count_kv",
    "head_dim": "attention.key_length",
    "rms_norm_eps": "attention.layer_norm_rms_epsilon",
    "max_position_embeddings": "context_length",
    "rope_theta": "rope.freq_base",
}
"""Names of `config.json` and those of a GGUF file, after the name of its architecture."""


def _of_gguf(header: GgufHeader, path: Path) -> Found:
    """Llama alone: only its queries and keys are known to be in another order there."""
    if header.architecture != "llama":
        raise input_error(
            f"{path}: GGUF of this architecture does not load into the native decoder",
            got=header.architecture or "no architecture",
            allowed="llama, such as SmolLM2, Llama and Mistral",
            fix="name the model's folder with config.json and *.safetensors instead",
        )
    told = {key: header.settings.get(f"llama.{name}") for key, name in GGUF_KEYS.items()}
    scaled = header.settings.get("llama.rope.scaling.type") not in (None, "none")
    scaled = scaled or any(name.startswith("rope_freqs") for name in header.tensors)
    tokens: list[Any] = header.settings.get("tokenizer.ggml.tokens") or []
    settings = {
        **told,
        "model_type": "llama",
        "vocab_size": header.settings.get("llama.vocab_size") or len(tokens) or None,
        "tie_word_embeddings": "output.weight" not in header.tensors,
        "rope_scaling": {"rope_type": "scaled"} if scaled else None,
    }
    return shape_of(settings, name=str(path))
