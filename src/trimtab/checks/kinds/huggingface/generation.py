"""Decoding options and special ids, of `generation_config.json` and of older `config.json`."""

from collections.abc import Mapping
from typing import Any

from trimtab.checks.kinds.concept_map import Concepts, put
from trimtab.checks.setting import Setting

NAMES = {
    "beam": "num_beams",
    "no_repeat_ngram": "no_repeat_ngram_size",
    "repetition_penalty": "repetition_penalty",
    "pad_token_id": "pad_token_id",
    "decoder_start_token_id": "decoder_start_token_id",
}


def put_generation(concepts: Concepts, settings: Mapping[str, Setting]) -> None:
    """Tells how text is searched for, and by which ids it begins, ends and is filled up."""
    for concept, key in NAMES.items():
        put(concepts, concept, settings.get(key))
    ends = settings.get("eos_token_id")
    value: Any = ends.value if ends is not None else None
    put(concepts, "eos_token_id", ends, value[0] if isinstance(value, list) and value else value)
