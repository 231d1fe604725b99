"""LoraConfig and the other configurations of PEFT."""

from typing import Any

from trimtab.checks.kinds.concept_map import Concepts, put, put_each, text_list
from trimtab.checks.kinds.written import Written

EMBEDDINGS = frozenset(
    {"embed_tokens", "wte", "word_embeddings", "shared", "embed_in", "embedding", "tok_embeddings"}
)
"""Last parts of the names of input embeddings."""


def adapter_concepts(written: Written, method: str) -> Concepts:
    """What an adapter's configuration says; `method` is PEFT's type in lower case."""
    concepts: Concepts = {}
    named = written.settings.get("peft_type") or next(iter(written.settings.values()), None)
    put(concepts, "adapter", named or written.default("peft_type", method), method)
    if method not in ("lora", "adalora"):
        put(concepts, "modules_to_save", written.get("modules_to_save"))
        return concepts
    put_each(
        concepts,
        written,
        {
            "lora_rank": "r",
            "lora_alpha": "lora_alpha",
            "lora_dropout": "lora_dropout",
            "rslora": "use_rslora",
            "dora": "use_dora",
            "ensure_weight_tying": "ensure_weight_tying",
            "modules_to_save": "modules_to_save",
        },
    )
    _put_targets(concepts, written)
    initial = written.get("init_lora_weights")
    put(concepts, "lora_init", initial, lora_init(initial.value if initial else None))
    rows = written.get("trainable_token_indices")
    put(concepts, "trainable_token_indices", rows, bool(rows and rows.value))
    put_frozen_embeddings(concepts, written)
    return concepts


def lora_init(value: Any) -> str | None:
    """The way of `init_lora_weights`: `pissa_niter_16` is pissa."""
    if isinstance(value, bool):
        return "default" if value else "random"
    return value.lower().partition("_")[0] if isinstance(value, str) else None


def put_frozen_embeddings(concepts: Concepts, written: Written) -> None:
    """Tells whether input embeddings get no gradient: they do only as a target, saved whole, or row by row."""
    keys = ("target_modules", "modules_to_save", "trainable_token_indices", "target_parameters")
    if any(not written.knows(key) for key in keys[:2]) or any(key in written.hidden for key in keys):
        return
    targets, saved = (written.get(key) for key in keys[:2])
    names = [*(text_list(targets and targets.value) or []), *(text_list(saved and saved.value) or [])]
    if targets is not None and isinstance(targets.value, str) and targets.value.lower() != "all-linear":
        return
    trains = any(name.rpartition(".")[2] in EMBEDDINGS for name in names) or bool(written.value(keys[2]))
    put(concepts, "frozen_embeddings", targets, not trains)


def _put_targets(concepts: Concepts, written: Written) -> None:
    targets = written.get("target_modules")
    if targets is None:
        return
    if isinstance(targets.value, str):
        # Any other text is a regular expression over names that are not here.
        put(
            concepts,
            "lora_targets",
            targets,
            ["all-linear"] if targets.value.lower() == "all-linear" else None,
        )
    else:
        put(concepts, "lora_targets", targets, text_list(targets.value))
