"""The adapter of another tool's run as the branch `adapter` of a recipe."""

from typing import Any, get_args

from trimtab.checks.adapter_names import EMBEDDINGS, HEADS, last_part, names_in
from trimtab.checks.conversion.draft import Draft, scalar
from trimtab.errors import input_error

KINDS = ("lora", "qlora", "none")
ALL = "all-linear"
MOST_RANK = 4096
NATIVE = {"out_proj": "o_proj", "fc1": "up_proj", "fc2": "down_proj"}


def refuse_adapter(draft: Draft, *, title: str) -> None:
    """Raises InputError for an adapter that trimtab does not train: with another one it would be another run."""
    adapter = draft.run.setting("adapter")
    if adapter is None or adapter.value in KINDS:
        return
    raise input_error(
        f"{draft.run.document.path}: its adapter is of a kind that trimtab does not train",
        got=f"{adapter.key}: {adapter.value}",
        allowed="LoRA, rsLoRA, DoRA, QLoRA, or training of all weights",
        fix=f"keep it in {title}, or set `{adapter.key}: lora`",
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
    names: list[Any] = list(setting.value) if setting is not None else []
    if setting is None or not names or ALL in names:
        return
    from trimtab.config.adapter import Target

    known = [
        each
        for name in names
        if (each := NATIVE.get(last_part(str(name)), last_part(str(name)))) in get_args(Target)
    ]
    left = [
        str(name)
        for name in names
        if NATIVE.get(last_part(str(name)), last_part(str(name))) not in get_args(Target)
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
    if names_in(names, EMBEDDINGS | HEADS):
        draft.say(f"embeddings: {scalar('train')}", level=1, comment=draft.origin(saved))
    if others := [str(name) for name in names if last_part(str(name)) not in EMBEDDINGS | HEADS]:
        draft.note(f"{', '.join(others)} are trained whole there, and are frozen here")
    tokens = draft.run.setting("added_tokens")
    if tokens is not None and tokens.value:
        draft.note(
            f"the run adds tokens to the vocabulary ({', '.join(map(str, tokens.value[:3]))}): extend the model "
            "before, and set `adapter.embeddings: train`, so that their rows are trained"
        )
