"""What config.json says of a model that a module of transformers computes, as keys of `model`."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from trimtab.config.pretrained.families import Family
from trimtab.config.pretrained.place import CONFIG, Place
from trimtab.config.pretrained.shapes import Found, read_settings
from trimtab.errors import InputError, Problem, input_error

GENERATION = "generation_config.json"
OF_GENERATION = (
    "decoder_start_token_id",
    "forced_bos_token_id",
    "eos_token_id",
    "pad_token_id",
    "bos_token_id",
)
"""Where both files say one of these, the second is what `generate` of transformers uses."""
NOT_KEPT = (
    "auto_map",
    "_name_or_path",
    "transformers_version",
    "torch_dtype",
    "dtype",
    "quantization_config",
)
WIDTHS = ("d_model", "hidden_size", "n_embd", "dim")
DEPTHS = (
    "num_hidden_layers", "n_layer", "num_layers", "n_layers", "encoder_layers", "decoder_layers", "num_decoder_layers",
)  # fmt: skip
UNBOUNDED = 65536
LARGEST = 10_000_000


def read_module(place: Place, family: Family, settings: Mapping[str, Any]) -> Found:
    """The keys of `model` that the files of a model in a folder give. Raises InputError for settings that are missing,
    no numbers, or that trimtab cannot train."""
    path = place.path / CONFIG
    if problems := [*not_trained(settings, str(path))]:
        raise InputError(*problems)
    kept = {key: value for key, value in settings.items() if key not in NOT_KEPT}
    if family.facts.attends_to_source:
        told = read_settings(place.path / GENERATION) if (place.path / GENERATION).is_file() else {}
        kept |= {key: told[key] for key in OF_GENERATION if told.get(key) is not None}
    wide = next((settings[key] for key in WIDTHS if settings.get(key) is not None), None)
    rows = settings.get("vocab_size")
    scored = settings.get("decoder_vocab_size") or rows
    numbers = {"the width of the model": wide, "vocab_size": rows, "decoder_vocab_size": scored}
    if family.window is not None:
        numbers[family.window] = settings.get(family.window)
    numbers |= {name: settings[name] for name in DEPTHS if settings.get(name) is not None}
    for name, value in numbers.items():
        if type(value) is not int or not 1 <= value <= LARGEST:
            raise input_error(
                f"{path}: {name} is missing or no size",
                got=str(value)[:80],
                allowed=f"a whole number from 1 to {LARGEST:,}",
                fix="download the file again",
            )
    window = UNBOUNDED if family.window is None else settings[family.window] - family.reserved_positions
    dropout = settings.get(family.dropout, 0.0 if family.facts.continues_texts else 0.1)
    shape: dict[str, Any] = {
        "family": settings["model_type"],
        "settings": json.dumps(kept, sort_keys=True, ensure_ascii=False),
        "dim": wide,
        "num_ids": scored,
        "num_source_ids": rows,
        "dropout": float(dropout) if isinstance(dropout, int | float) else 0.1,
        "tie_embeddings": family.facts.writes_text
        and settings.get("tie_word_embeddings", family.tied) is not False,
    }
    return Found(shape, min(window, UNBOUNDED))


def not_trained(settings: Mapping[str, Any], name: str) -> Iterator[Problem]:
    """A problem for each setting of `config.json` with which no weights can be trained; `name` is for messages."""
    if settings.get("quantization_config") is not None:
        yield Problem(
            what=f"{name}: quantized weights cannot be trained here",
            got=f"quantization_config: {str(settings['quantization_config'])[:80]}",
            allowed="weights in float32, float16 or bfloat16",
            fix="take the model before it was quantized",
        )
