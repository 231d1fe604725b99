"""The adapter of another tool's run as the branch `adapter` of a recipe."""

from typing import Any

from trimtab.checks.adapter_names import EMBEDDINGS, HEADS, last_part, names_in
from trimtab.checks.conversion.draft import Draft, scalar
from trimtab.errors import input_error

KINDS = ("lora", "qlora", "none")
ALL = "all-linear"
MOST_RANK = 4096
ALONE = {"dense": "o_proj", "c_proj": "o_proj"}
"""Names that say only together with what they are in which map they are."""


def refuse_adapter(draft: Draft, *, title: str) -> None:
    """Raises InputError for an adapter that trimtab does not train: with another one it would be another run."""
    adapter = draft.run.setting("adapter")
    if adapter is None or adapter.value in KINDS:
        return
    raise input_error(
        f"{draft.run.document.path}: its adapter is of a kind that trimtab does not train",
        got=f"{adapter.key}: {adapter.value}",
        allowed="LoRA, rsLoRA, DoRA, QLoRA, or training of all weights",
        fix=f"keep it in {title}, or set `{adapter.key}: lora`"
        if adapter.value != "freeze"
        else f"set `{adapter.key}: full`, and name the weights that stay as they are in `freeze` of the recipe",
    )


def write_adapter(draft: Draft) -> None:
    """Writes the branch, where there is an adapter."""
    adapter, bits = draft.take("adapter"), draft.take("quantization_bits")
    if adapter is None or adapter.value == "none":
        return
    draft.say()
    draft.say("adapter:")
    draft.put("kind", "lora", level=1, source=adapter)
    rank = draft.take("lora_rank")
    number = min(rank.value, MOST_RANK) if rank is not None and rank.value >= 1 else 8
    draft.put("rank", number, level=1, source=rank)
    alpha = draft.take("lora_alpha")
    if alpha is not None and alpha.value > 0:
        draft.put("alpha", float(alpha.value), level=1, source=alpha)
    for key in ("rslora", "dora"):
        if (setting := draft.take(key)) is not None and setting.value:
            draft.put(key, True, level=1, source=setting)
    _write_targets(draft)
    _write_embeddings(draft)
    is_four = adapter.value == "qlora" or (bits is not None and bits.value == 4)
    if is_four and (bits is None or bits.value == 4):
        draft.account(draft.run.keys.get("load_in_4bit"))
        draft.put("quantize_base", "nf4", level=1, source=bits)
    elif bits is not None:
        draft.note(
            f"the base is kept in {bits.value} bits there; here it is kept in 16, or with `quantize_base: nf4` in 4"
        )
    begun = draft.key("lora_model_dir", "adapter_name_or_path")
    if begun is not None and begun.value:
        draft.note(
            f"{begun.key} ({str(begun.value)[:60]}) is trained further there; here the adapter begins at zero: merge "
            "the other one into its base before (`merge_and_unload` of PEFT), and name the merged model in `model.path`"
        )
    dropout = draft.take("lora_dropout")
    if dropout is not None and dropout.value > 0:
        draft.note(
            f"{dropout.key} ({dropout.value:g}) is left out: where an adapter overfits, train for less time"
        )
    start = draft.take("lora_init")
    if start is not None and start.value not in ("default", "true", True):
        draft.note(
            f"the adapter begins there by {start.value}; here B is zero and A is drawn, as PEFT does by default"
        )


def _write_targets(draft: Draft) -> None:
    setting = draft.take("lora_targets")
    for key in ("lora_target_linear", "lora_target_modules"):
        draft.account(draft.run.keys.get(key))
    pattern = draft.run.keys.get("lora_target_modules") or draft.run.keys.get("lora_target")
    if (
        setting is None
        and pattern is not None
        and isinstance(pattern.value, str)
        and pattern.value not in ("all", ALL)
    ):
        draft.note(
            f"{pattern.key} is a pattern over names: all linear maps get an adapter here; choose some by "
            "`adapter.targets`, such as [q_proj, v_proj]"
        )
    names: list[Any] = list(setting.value) if setting is not None else []
    if setting is None or not names or ALL in names:
        return
    from trimtab.config.pretrained.map_names import target_of

    found = {str(name): target_of(str(name)) or ALONE.get(last_part(str(name))) for name in names}
    known = [each for each in found.values() if each is not None]
    left = [
        name for name, each in found.items() if each is None and last_part(name) not in EMBEDDINGS | HEADS
    ]
    if left:
        draft.note(
            f"{', '.join(left)} cannot have an adapter here"
            + (", and all linear maps get one" if not known else "")
            + "; embeddings are trained in full by `embeddings: train`"
        )
    if known:
        draft.put("targets", list(dict.fromkeys(known)), level=1, source=setting)


def _write_embeddings(draft: Draft) -> None:
    saved = draft.take("modules_to_save")
    names: list[Any] = list(saved.value) if saved is not None and saved.value else []
    adapted: list[Any] = list(draft.run.value("lora_targets") or [])
    if names_in([*names, *adapted], EMBEDDINGS | HEADS):
        origin = saved or draft.run.setting("lora_targets")
        draft.say(f"embeddings: {scalar('train')}", level=1, comment=draft.origin(origin))
    if tables := names_in(adapted, EMBEDDINGS | HEADS):
        draft.note(f"{', '.join(tables)} get LoRA there; here they are trained in full")
    if others := [str(name) for name in names if last_part(str(name)) not in EMBEDDINGS | HEADS]:
        draft.note(f"{', '.join(others)} are trained whole there, and are frozen here")
    tokens = draft.take("added_tokens")
    draft.key("add_tokens", "resize_vocab")
    if tokens is not None and tokens.value:
        draft.note(
            f"the run adds tokens to the vocabulary ({', '.join(map(str, tokens.value[:3]))}): extend the model "
            "before, and set `adapter.embeddings: train`, so that their rows are trained"
        )
