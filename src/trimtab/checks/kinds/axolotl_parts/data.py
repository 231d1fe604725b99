"""Data, tokens and the kind of training of Axolotl."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from trimtab.checks.description import Version
from trimtab.checks.kinds.concept_map import Concepts, as_type, put, put_each, text_list
from trimtab.checks.kinds.signs import mapping
from trimtab.checks.kinds.written import Written

PREFERENCES = frozenset({"dpo", "ipo", "kto", "simpo", "orpo", "gdpo"})
"""Values of `rl` that learn from pairs; the others sample."""
MIXING = frozenset({"eager", "sdpa"})
"""Attention that does not see where a packed document ends, unless it is given a mask."""
ISOLATING = (0, 18)
"""From this version on both get a mask of the documents (pull request 3796)."""
WARNING = (0, 17)
"""This version warns of `sdpa`; those before took it for one that isolates, and which was right nobody has looked."""


def put_task(concepts: Concepts, written: Written) -> None:
    """Tells what is learned; a model of images or sound is left open."""
    learned = written.settings.get("rl")
    if learned is not None and learned.value is not None:
        put(concepts, "task", learned, "preference" if str(learned.value) in PREFERENCES else None)
        return
    for key in ("reward_model", "process_reward_model"):
        if written.value(key) is True:
            put(concepts, "task", written.settings[key], "reward")
            return
    corpus = written.settings.get("pretraining_dataset")
    if corpus is not None:
        put(concepts, "task", corpus, "pretrain")
    elif "processor_type" not in written.settings:
        put(concepts, "task", written.settings.get("datasets"), "language_model")


def put_data(concepts: Concepts, written: Written, versions: Mapping[str, Version]) -> None:
    """Tells corpora, packing, lengths, and the tokens that the run adds."""
    put_each(
        concepts,
        written,
        {
            "sequence_length": "sequence_len",
            "loss_on_prompt": "train_on_inputs",
            "chat_template": "chat_template",
        },
    )
    _put_packing(concepts, written, versions.get("axolotl"))
    _put_corpora(concepts, written)
    put_each(
        concepts, written, {"pad_token": "special_tokens.pad_token", "eos_token": "special_tokens.eos_token"}
    )
    _put_tokens(concepts, written)


def _put_packing(concepts: Concepts, written: Written, version: Version | None) -> None:
    packs = written.get("sample_packing")
    if packs is None:
        return
    put(concepts, "packing", replace(packs, value=bool(packs.value)))
    if packs.value is True and not written.value("gemma4_hybrid_attn_impl"):
        kernel = concepts.get("attention_kernel")
        put(concepts, "packing_isolated", packs, _isolates(kernel.value if kernel else "", written, version))


def _isolates(kernel: str, written: Written, version: Version | None) -> bool | None:
    """Of a file that names no attention Axolotl itself warns, in every version."""
    if not kernel:
        return False if written.is_whole and "attn_implementation" not in written.hidden else None
    if kernel not in MIXING or written.value("sdpa_varlen") is True:
        return True
    if version is None or (kernel == "sdpa" and version < WARNING):
        return None
    return version >= ISOLATING


def _put_corpora(concepts: Concepts, written: Written) -> None:
    for key in ("datasets", "pretraining_dataset"):
        setting = written.settings.get(key)
        value: Any = setting.value if setting is not None else None
        if isinstance(value, list):
            paths = [mapping(item).get("path") for item in cast("list[Any]", value)]
            put(concepts, "corpora", setting, text_list([path for path in paths if path is not None]))
    share, others = written.get("val_set_size"), written.settings.get("test_datasets")
    if others is not None and others.value:
        put(concepts, "validation", others, True)
    elif share is not None and as_type(share.value, float) is not None:
        put(concepts, "validation", share, share.value > 0)


def _put_tokens(concepts: Concepts, written: Written) -> None:
    places = [
        setting
        for key in ("tokens", "special_tokens.additional_special_tokens")
        if (setting := written.settings.get(key)) is not None and setting.value
    ]
    names = [name for setting in places for name in text_list(setting.value) or []]
    if places and names:
        put(concepts, "added_tokens", places[0], names)
