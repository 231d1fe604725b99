"""Data, tokens and stages of LLaMA-Factory."""

from trimtab.checks.kinds.concept_map import Concepts, as_type, put, put_each
from trimtab.checks.kinds.llamafactory_parts.adapter import names_in
from trimtab.checks.kinds.written import Written

TASKS = {"pt": "pretrain", "sft": "language_model", "dpo": "preference", "kto": "preference", "rm": "reward"}


def put_task(concepts: Concepts, written: Written) -> None:
    """Tells the stage; ppo samples and has no word."""
    stage = written.get("stage")
    put(concepts, "task", stage, TASKS.get(str(stage and stage.value)))


def put_data(concepts: Concepts, written: Written) -> None:
    """Tells corpora, lengths and packing, which lets documents see each other unless it is the neat one."""
    put_each(
        concepts,
        written,
        {"sequence_length": "cutoff_len", "loss_on_prompt": "train_on_prompt", "chat_template": "template"},
    )
    corpora = written.settings.get("dataset")
    put(concepts, "corpora", corpora, names_in(corpora.value) if corpora is not None else None)
    share, other = written.get("val_size"), written.settings.get("eval_dataset")
    if other is not None and other.value:
        put(concepts, "validation", other, True)
    elif share is not None and as_type(share.value, float) is not None:
        put(concepts, "validation", share, share.value > 1e-6)
    beams = written.settings.get("eval_num_beams")
    put(concepts, "beam", beams)
    _put_packing(concepts, written)


def put_tokens(concepts: Concepts, written: Written) -> None:
    """Tells the tokens that are added: texts between commas."""
    places = [
        written.settings[key] for key in ("add_tokens", "add_special_tokens") if key in written.settings
    ]
    names = [name for setting in places for name in names_in(setting.value) or []]
    if names:
        put(concepts, "added_tokens", places[0], names)


def _put_packing(concepts: Concepts, written: Written) -> None:
    packs, neat = written.get("packing"), written.get("neat_packing")
    if neat is not None and neat.value is True:
        put(concepts, "packing", neat, True)
        put(concepts, "packing_isolated", neat, True)
    elif packs is not None and packs.value is True:
        put(concepts, "packing", packs)
        put(concepts, "packing_isolated", packs, False)
    elif packs is not None and packs.value is False:
        put(concepts, "packing", packs)
    elif packs is not None and "task" in concepts:
        is_on = concepts["task"].value == "pretrain"
        chosen = written.default("packing", is_on)
        put(concepts, "packing", chosen)
        put(concepts, "packing_isolated", chosen if is_on else None, False)
