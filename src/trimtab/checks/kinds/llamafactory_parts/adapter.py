"""Adapters of LLaMA-Factory."""

from trimtab.checks.kinds.concept_map import Concepts, as_type, put, put_each
from trimtab.checks.kinds.huggingface.adapter import EMBEDDINGS
from trimtab.checks.kinds.written import Written


def put_adapter(concepts: Concepts, written: Written) -> None:
    """Tells the method; LoRA is on where nothing is said, on all linear modules, with alpha twice the rank."""
    method = written.get("finetuning_type")
    if method is None or not isinstance(method.value, str):
        return
    is_quantized = written.settings.get("quantization_bit") is not None and method.value == "lora"
    put(
        concepts,
        "adapter",
        method,
        {"full": "none"}.get(method.value, "qlora" if is_quantized else method.value),
    )
    if method.value == "full":
        put(concepts, "frozen_embeddings", method, False)
    if method.value != "lora":
        return
    put_each(
        concepts,
        written,
        {
            "lora_rank": "lora_rank",
            "lora_dropout": "lora_dropout",
            "rslora": "use_rslora",
            "dora": "use_dora",
        },
    )
    alpha, rank = written.settings.get("lora_alpha"), concepts.get("lora_rank")
    if alpha is not None and alpha.value:
        put(concepts, "lora_alpha", alpha)
    elif rank is not None:
        put(concepts, "lora_alpha", written.default("lora_alpha", 2 * rank.value))
    pissa = written.get("pissa_init")
    put(concepts, "lora_init", pissa, "pissa" if pissa is not None and pissa.value is True else "default")
    _put_targets(concepts, written)


def names_in(value: object) -> list[str] | None:
    """Names between commas, as its parser splits them; None if it is no text."""
    if not isinstance(value, str):
        return None
    return [name.strip() for name in value.split(",") if name.strip()]


def _put_targets(concepts: Concepts, written: Written) -> None:
    targets, saved = written.get("lora_target"), written.get("additional_target")
    names = names_in(targets.value) if targets is not None else None
    if names is not None:
        put(concepts, "lora_targets", targets, ["all-linear"] if names == ["all"] else names)
    trained = names_in(saved.value) if saved is not None and saved.value is not None else []
    if saved is not None and saved.value is not None:
        put(concepts, "modules_to_save", saved, trained)
    if names is None or trained is None:
        return
    gets_gradient = any(name.rpartition(".")[2] in EMBEDDINGS for name in (*names, *trained))
    # With new tokens and nothing named it adds the embeddings itself.
    adds_them = (
        written.value("resize_vocab") is True
        and not trained
        and as_type(written.value("quantization_bit"), int) is None
    )
    put(concepts, "frozen_embeddings", targets, not (gets_gradient or adds_them))
