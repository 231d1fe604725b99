"""Optimizer, schedule, batch, length and checkpoints as OpenNMT-py, Mammoth and Eole name them."""

from dataclasses import replace
from typing import Any, cast

from trimtab.checks.kinds.concept_map import Concepts, as_type, put, put_each
from trimtab.checks.kinds.optimizer_names import take_apart
from trimtab.checks.kinds.written import Written
from trimtab.checks.setting import Setting

RISING = {"noam", "noamwd", "cosine", "linear_warmup"}
"""Decay methods whose rate rises over `warmup_steps`; under `rsqrt` it is level for so long, else nothing reads it."""
SCHEDULES = {"linear_warmup": "linear"}
"""Words of `concepts` for decay methods that have another name there."""


def put_training(concepts: Concepts, written: Written) -> None:
    """Tells all that the three tools share; `written` has their keys without a block's name."""
    put_optimizer(concepts, written)
    put_schedule(concepts, written)
    put_batch(concepts, written)
    put_checkpoints(concepts, written)
    put_adapter(concepts, written)
    put_each(concepts, written, {"label_smoothing": "label_smoothing", "dataloader_workers": "num_workers"})
    put(concepts, "dropout", last_of(written.get("dropout")))
    put(concepts, "attention_dropout", last_of(written.get("attention_dropout")))
    recomputed = written.get("use_ckpting")
    put(concepts, "gradient_checkpointing", recomputed, bool(recomputed and recomputed.value))


def put_optimizer(concepts: Concepts, written: Written) -> None:
    """Tells the optimizer; all three begin with plain SGD at a rate of 1."""
    chosen = written.get("optim")
    name = take_apart(chosen.value) if chosen is not None and isinstance(chosen.value, str) else None
    if chosen is not None and name is not None:
        put(concepts, "optimizer", chosen, name.kind)
        put(concepts, "optimizer_variant", chosen)
        put(concepts, "optimizer_bits", chosen, name.bits)
        put(concepts, "optimizer_paged", chosen, name.is_paged)
    put_each(concepts, written, {"learning_rate": "learning_rate", "clip": "max_grad_norm"})
    if name is not None and name.kind in ("adam", "adamw"):
        put_each(concepts, written, {"beta1": "adam_beta1", "beta2": "adam_beta2"})


def put_schedule(concepts: Concepts, written: Written) -> None:
    """Tells the decay method; where its warm-up is no rise, there is none."""
    method = written.get("decay_method")
    if method is None or not isinstance(method.value, str):
        return
    put(concepts, "schedule", method, SCHEDULES.get(method.value, method.value))
    warmup = written.get("warmup_steps")
    if method.value in RISING:
        put(concepts, "warmup_steps", warmup)
    elif method.value != "rsqrt":
        put(concepts, "warmup_steps", written.default("warmup_steps", 0))


def put_batch(concepts: Concepts, written: Written) -> None:
    """Tells how large a step is and how many there are."""
    put_each(concepts, written, {"micro_batch": "batch_size", "steps": "train_steps"})
    unit, split = written.get("batch_type"), written.get("parallel_mode")
    put(concepts, "batch_unit", unit, {"sents": "examples", "tokens": "tokens"}.get(str(unit and unit.value)))
    put(concepts, "accumulation", last_of(written.get("accum_count")))
    if split is not None and split.value == "tensor_parallel":
        put(concepts, "devices", split, 1)
    else:
        put(concepts, "devices", written.get("world_size"))


def put_checkpoints(concepts: Concepts, written: Written) -> None:
    """Tells when it validates and saves; both are counted in steps."""
    for concept, key, strategy in (
        ("eval_steps", "valid_steps", "eval_strategy"),
        ("save_steps", "save_checkpoint_steps", "save_strategy"),
    ):
        setting = written.get(key)
        put(concepts, concept, setting)
        put(concepts, strategy, setting, "steps")
    kept = written.get("keep_checkpoint")
    if kept is not None and isinstance(kept.value, int) and kept.value > 0:
        put(concepts, "keep_checkpoints", kept)


def put_adapter(concepts: Concepts, written: Written) -> None:
    """Tells LoRA, which the presence of `lora_layers` turns on, and quantised base weights."""
    layers = written.get("lora_layers")
    if layers is None:
        return
    put(concepts, "adapter", layers, "lora" if layers.value else "none")
    if layers.value:
        put(concepts, "lora_targets", layers)
        put_each(
            concepts,
            written,
            {"lora_rank": "lora_rank", "lora_alpha": "lora_alpha", "lora_dropout": "lora_dropout"},
        )
    quantized = written.get("quant_type")
    if quantized is not None and quantized.is_written:
        bits = {"bnb_8bit": 8, "bnb_FP4": 4, "bnb_NF4": 4, "awq_gemm": 4, "awq_gemv": 4}
        put(concepts, "quantization_bits", quantized, bits.get(str(quantized.value)))


def put_scratch(concepts: Concepts, written: Written) -> None:
    """Tells whether training begins with random weights: it does unless `train_from` names a checkpoint."""
    begun = written.get("train_from")
    put(concepts, "from_scratch", begun, not (begun and begun.value))
    if begun is not None and begun.value:
        put(concepts, "model_name", begun)


def last_of(setting: Setting | None) -> Setting | None:
    """The setting with the value that holds at the end: these options are lists with a schedule, or one value."""
    value: Any = setting.value if setting is not None else None
    if setting is None or not isinstance(value, list):
        return setting
    values = cast("list[Any]", value)
    return replace(setting, value=values[-1]) if values else None


def positive(setting: Setting | None) -> Setting | None:
    """The setting where its number is above zero; these tools write -1 and 0 for "not set"."""
    number = as_type(setting.value, float) if setting is not None else None
    return setting if number is not None and number > 0 else None
