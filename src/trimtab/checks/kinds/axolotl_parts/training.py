"""Optimizer, schedule, batch, length, evaluation and checkpoints of Axolotl."""

from dataclasses import replace

from trimtab.checks.kinds.concept_map import Concepts, as_type, put, put_each
from trimtab.checks.kinds.huggingface.optimizer import parsed_arguments, says_yes
from trimtab.checks.kinds.optimizer_names import ADAM_LIKE, take_apart
from trimtab.checks.kinds.written import Written

INSERTED_WARMUP = 0.03
"""Share of the length that is inserted where no warm-up is written, at most 100 steps."""
KAHAN = ("flash_", "optimi_")
"""Names of optimizers that begin so compensate the rounding of half-precision weights."""
HF_CLIP = 1.0
HF_EPSILON = 1e-8


def put_training(concepts: Concepts, written: Written) -> None:
    """Tells how a step is made, how many there are, and what happens between them."""
    put_optimizer(concepts, written)
    put_length(concepts, written)
    put_warmup(concepts, written)
    put_batch(concepts, written)
    put_checkpoints(concepts, written)


def put_optimizer(concepts: Concepts, written: Written) -> None:
    """Tells the optimizer. Nothing set means transformers' defaults; a lone beta is dropped by the custom ones."""
    put_each(concepts, written, {"learning_rate": "learning_rate", "weight_decay": "weight_decay"})
    chosen = written.get("optimizer")
    name = take_apart(chosen.value) if chosen is not None and isinstance(chosen.value, str) else None
    if chosen is not None and name is not None:
        put(concepts, "optimizer", chosen, name.kind)
        put(concepts, "optimizer_variant", chosen)
        put(concepts, "optimizer_bits", chosen, name.bits)
        put(concepts, "optimizer_paged", chosen, name.is_paged)
        arguments = parsed_arguments(written.value("optim_args"))
        rounding = says_yes(arguments.get("bf16_stochastic_round", False))
        put(concepts, "stochastic_rounding", chosen, str(chosen.value).startswith(KAHAN) or rounding)
    if name is None or name.kind in ADAM_LIKE:
        for concept, key, default in (
            ("beta1", "adam_beta1", 0.9),
            ("beta2", "adam_beta2", 0.999),
            ("epsilon", "adam_epsilon", HF_EPSILON),
        ):
            put(concepts, concept, written.settings.get(key) or written.default(key, default))
    clip = written.settings.get("max_grad_norm")
    is_set = clip is not None and clip.value is not None
    put(concepts, "clip", clip if is_set else written.default("max_grad_norm", HF_CLIP))
    put(concepts, "schedule", written.get("lr_scheduler"))


def put_length(concepts: Concepts, written: Written) -> None:
    """Tells steps where they are set, else epochs."""
    steps = written.settings.get("max_steps")
    number = as_type(steps.value, int) if steps is not None else None
    if number is not None and number > 0:
        put(concepts, "steps", steps)
    elif steps is None or steps.value is None or number is not None:
        put(concepts, "epochs", written.get("num_epochs"))


def put_warmup(concepts: Concepts, written: Written) -> None:
    """Tells the warm-up, which is inserted where none is written; one step is made two."""
    steps, ratio = (written.settings.get(key) for key in ("warmup_steps", "warmup_ratio"))
    if steps is not None and steps.value is not None:
        put(concepts, "warmup_steps", steps, 2 if steps.value == 1 else steps.value)
    elif ratio is not None and ratio.value is not None:
        put(concepts, "warmup_ratio", ratio)
    elif "steps" in concepts:
        inserted = min(int(INSERTED_WARMUP * concepts["steps"].value), 100)
        put(concepts, "warmup_steps", written.default("warmup_steps", 2 if inserted == 1 else inserted))
    else:
        put(concepts, "warmup_ratio", written.default("warmup_ratio", INSERTED_WARMUP))


def put_batch(concepts: Concepts, written: Written) -> None:
    """Tells examples at once and micro-batches in a step; `batch_size` is their product on one device."""
    micro, total = written.get("micro_batch_size"), written.settings.get("batch_size")
    accumulated = written.settings.get("gradient_accumulation_steps")
    put(concepts, "micro_batch", micro)
    put(concepts, "batch_unit", micro, "examples")
    if accumulated is not None:
        put(concepts, "accumulation", accumulated)
    elif total is None:
        put(concepts, "accumulation", written.get("gradient_accumulation_steps"))
    else:
        one, all_of_them = as_type(micro.value if micro else None, int), as_type(total.value, int)
        if one and all_of_them:
            put(concepts, "accumulation", total, all_of_them // one)
    for concept, key in (("batch_finder", "auto_find_batch_size"), ("group_by_length", "group_by_length")):
        setting = written.get(key)
        put(
            concepts, concept, replace(setting, value=False) if setting and setting.value is None else setting
        )


def put_checkpoints(concepts: Concepts, written: Written) -> None:
    """Tells evaluation and checkpoints as far as they are written."""
    put_each(
        concepts,
        written,
        {
            "eval_strategy": "eval_strategy",
            "eval_steps": "eval_steps",
            "save_strategy": "save_strategy",
            "save_steps": "save_steps",
            "keep_checkpoints": "save_total_limit",
            "load_best": "load_best_model_at_end",
            "output_dir": "output_dir",
            "dataloader_workers": "dataloader_num_workers",
            "pin_memory": "dataloader_pin_memory",
        },
    )
    seed = written.settings.get("seed")
    put(
        concepts, "seed", seed if seed is not None and seed.value is not None else written.default("seed", 42)
    )
    put(concepts, "nan_filter", written.default("logging_nan_inf_filter", True))
