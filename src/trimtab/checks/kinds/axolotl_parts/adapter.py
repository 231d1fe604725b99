"""Adapters of Axolotl: PEFT's options under its own names."""

from typing import Any

from trimtab.checks.kinds.concept_map import Concepts, put, put_each, text_list
from trimtab.checks.kinds.huggingface.adapter import EMBEDDINGS, lora_init
from trimtab.checks.kinds.written import Written


def put_adapter(concepts: Concepts, written: Written) -> None:
    """Tells the adapter with its options, or that there is none."""
    chosen = written.get("adapter")
    if chosen is None or not isinstance(chosen.value, str | None):
        return
    put(concepts, "adapter", chosen, chosen.value or "none")
    if not chosen.value:
        _put_frozen_layers(concepts, written)
        return
    put_each(
        concepts,
        written,
        {
            "lora_rank": "lora_r",
            "lora_alpha": "lora_alpha",
            "lora_dropout": "lora_dropout",
            "modules_to_save": "lora_modules_to_save",
        },
    )
    for concept, key in (
        ("rslora", "peft_use_rslora"),
        ("dora", "peft_use_dora"),
        ("ensure_weight_tying", "peft_ensure_weight_tying"),
    ):
        setting = written.get(key)
        put(concepts, concept, setting, bool(setting and setting.value))
    rows = written.get("peft_trainable_token_indices")
    put(concepts, "trainable_token_indices", rows, bool(rows and rows.value))
    _put_init(concepts, written)
    _put_targets(concepts, written)


def _put_init(concepts: Concepts, written: Written) -> None:
    quantized, chosen = written.settings.get("peft.loftq_config"), written.get("peft_init_lora_weights")
    if quantized is not None:
        put(concepts, "lora_init", quantized, "loftq")
    else:
        put(
            concepts,
            "lora_init",
            chosen,
            "default" if chosen and chosen.value is None else lora_init(chosen and chosen.value),
        )


def _put_targets(concepts: Concepts, written: Written) -> None:
    all_linear, named = (written.settings.get(key) for key in ("lora_target_linear", "lora_target_modules"))
    names: list[str] | None = text_list(named.value) if named is not None and named.value else []
    if all_linear is not None and all_linear.value is True:
        put(concepts, "lora_targets", all_linear, ["all-linear", *(names or [])])
    elif named is not None and not isinstance(named.value, str):
        put(concepts, "lora_targets", named, names)
    saved = written.value("lora_modules_to_save")
    # A single text is a regular expression over names that are not here.
    is_pattern = named is not None and isinstance(named.value, str) and named.value != "all-linear"
    if names is None or is_pattern or "modules_to_save" in written.hidden:
        return
    trained: list[Any] = [*names, *(text_list(saved) or [])]
    has_rows = bool(written.value("peft_trainable_token_indices"))
    gets_gradient = has_rows or any(name.rpartition(".")[2] in EMBEDDINGS for name in trained)
    put(concepts, "frozen_embeddings", written.get("adapter"), not gets_gradient)


def _put_frozen_layers(concepts: Concepts, written: Written) -> None:
    open_ones = written.settings.get("unfrozen_parameters")
    if open_ones is None or not open_ones.value:
        put(concepts, "frozen_embeddings", written.default("unfrozen_parameters", False))
        return
    patterns = text_list(open_ones.value) or []
    if not any(name in pattern for pattern in patterns for name in EMBEDDINGS):
        put(concepts, "frozen_embeddings", open_ones, True)
