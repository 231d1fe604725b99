"""What a script's own loop does: optimizer, schedule, clipping, autocast, recomputation, compilation."""

from collections.abc import Mapping

from trimtab.checks.description import Version
from trimtab.checks.document import Call, Document
from trimtab.checks.kinds.concept_map import Concepts, put
from trimtab.checks.kinds.huggingface.loading import dtype_word
from trimtab.checks.kinds.scripts.calls import agreeing, positional, written_of
from trimtab.checks.setting import Setting

SCHEDULES = {
    "get_linear_schedule_with_warmup": ("linear", 1, 2),
    "get_cosine_schedule_with_warmup": ("cosine", 1, 2),
    "get_cosine_with_hard_restarts_schedule_with_warmup": ("cosine_with_restarts", 1, 2),
    "get_polynomial_decay_schedule_with_warmup": ("polynomial", 1, 2),
    "get_constant_schedule_with_warmup": ("constant_with_warmup", 1, 9),
    "get_inverse_sqrt_schedule": ("inverse_sqrt", 1, 9),
    "get_constant_schedule": ("constant", 9, 9),
    "CosineAnnealingLR": ("cosine", 9, 9),
    "OneCycleLR": ("one_cycle", 9, 9),
    "ReduceLROnPlateau": ("reduce_lr_on_plateau", 9, 9),
    "get_scheduler": ("", 2, 3),
}
"""Its word, and the positions of the warm-up's and the whole run's steps (9: it has no such argument)."""
_TF32 = {"high": True, "medium": True, "highest": False}
_DECODING = {
    "beam": "num_beams",
    "no_repeat_ngram": "no_repeat_ngram_size",
    "repetition_penalty": "repetition_penalty",
}
AUTOCAST = {"no": "none", "fp16": "fp16", "bf16": "bf16"}


def loop_concepts(document: Document, versions: Mapping[str, Version]) -> Concepts:
    """All that calls of a loop say, each where it is said once or twice the same."""
    concepts: Concepts = {}
    for call in document.calls:
        _put_recomputation(concepts, call, document, versions)
        if call.name == "compile" and call.qualifier in ("torch", "model"):
            put(concepts, "compile", _at(call, True))
    _put_schedule(concepts, document)
    _put_decoding(concepts, document)
    _put_loader(concepts, document)
    _put_accelerator(concepts, document)
    _put_autocast(concepts, document)
    clips = [call for call in document.calls if call.name == "clip_grad_norm_"]
    norms = [positional(call, 1, "max_norm") for call in clips]
    put(concepts, "clip", agreeing(norm for norm in norms if norm) if None not in norms else None)
    for call in document.calls:
        if call.name == "set_float32_matmul_precision":
            precision = positional(call, 0, "precision")
            put(concepts, "tf32", precision, _TF32.get(str(precision.value)) if precision else None)
        elif call.name == "DataCollatorForCompletionOnlyLM":
            put(concepts, "loss_on_prompt", _at(call, False))
        elif call.name == "CPUOffloadOptimizer":
            put(concepts, "offload", _at(call, True))
        elif call.name == "DataCollatorWithFlattening":
            put(concepts, "packing", _at(call, True))
            put(concepts, "packing_isolated", _at(call, True))
    return concepts


def _at(call: Call, value: object) -> Setting:
    return Setting(key=call.name, value=value, place=call.place)


def _put_schedule(concepts: Concepts, document: Document) -> None:
    calls = [call for call in document.calls if call.name in SCHEDULES]
    if len(calls) != 1:
        return
    call = calls[0]
    word, warmup, length = SCHEDULES[call.name]
    named = positional(call, 0, "name") if call.name == "get_scheduler" else _at(call, word)
    put(concepts, "schedule", named)
    put(concepts, "warmup_steps", positional(call, warmup, "num_warmup_steps"))
    put(concepts, "steps", positional(call, length, "num_training_steps"))


def _put_decoding(concepts: Concepts, document: Document) -> None:
    calls = [call for call in document.calls if call.name in ("generate", "GenerationConfig")]
    for concept, name in _DECODING.items():
        said = [setting for call in calls if (setting := positional(call, 99, name)) is not None]
        hidden = any(name in call.arguments for call in calls) and not said
        put(concepts, concept, None if hidden else agreeing(said))


def _put_loader(concepts: Concepts, document: Document) -> None:
    """The loader that shuffles is the one for training, and so is one that is alone."""
    loaders = [call for call in document.calls if call.name == "DataLoader"]
    shuffled = [call for call in loaders if (mix := positional(call, 2, "shuffle")) and mix.value is True]
    if len(loaders) == 1 and not (mix := positional(loaders[0], 2, "shuffle")) and not loaders[0].has_rest:
        shuffled = loaders
    if len(shuffled) != 1:
        return
    call = shuffled[0]
    size = positional(call, 1, "batch_size")
    put(concepts, "micro_batch", size)
    put(concepts, "batch_unit", size, "examples")
    put(concepts, "dataloader_workers", positional(call, 99, "num_workers"))
    put(concepts, "pin_memory", positional(call, 99, "pin_memory"))


def _put_accelerator(concepts: Concepts, document: Document) -> None:
    calls = [call for call in document.calls if call.name == "Accelerator"]
    if len(calls) != 1 or "accelerate" not in document.imports:
        return
    written = written_of(calls[0], document)
    put(concepts, "accumulation", written.settings.get("gradient_accumulation_steps"))
    precision = written.settings.get("mixed_precision")
    if precision is not None and isinstance(precision.value, str):
        put(concepts, "autocast", precision, AUTOCAST.get(precision.value))
        put(concepts, "fp8", precision, True if precision.value == "fp8" else None)


def _put_autocast(concepts: Concepts, document: Document) -> None:
    calls = [
        call
        for call in document.calls
        if call.name == "autocast" and call.qualifier.startswith(("torch", "amp"))
    ]
    words: list[Setting] = []
    for call in calls:
        dtype, enabled = positional(call, 1, "dtype"), positional(call, 9, "enabled")
        if "enabled" in call.arguments and (enabled is None or enabled.value is not True):
            return
        if dtype is None and ("dtype" in call.arguments or "cpu" in call.positional):
            return
        # On a GPU autocast without a dtype is fp16.
        word = dtype_word(dtype.value) if dtype else "fp16"
        if word not in ("fp16", "bf16"):
            return
        words.append(_at(call, word))
    put(concepts, "autocast", agreeing(words))


def _put_recomputation(
    concepts: Concepts, call: Call, document: Document, versions: Mapping[str, Version]
) -> None:
    name = call.name
    if name in ("gradient_checkpointing_enable", "activation_checkpointing_enable"):
        kwargs = name.replace("_enable", "_kwargs")
        written = written_of(call, document)
        put(concepts, "gradient_checkpointing", _at(call, True))
        inner = written.settings.get(f"{kwargs}.use_reentrant")
        put(concepts, "use_reentrant", inner)
        version = versions.get("transformers")
        if inner is None and not call.positional and version is not None:
            default = written.set_default("use_reentrant", version < (5,), unless=(kwargs,))
            put(concepts, "use_reentrant", default)
    elif (
        name in ("checkpoint", "checkpoint_sequential")
        and "checkpoint" in f"{call.qualifier}.{_from(document)}"
    ):
        put(concepts, "gradient_checkpointing", _at(call, True))
        put(concepts, "use_reentrant", positional(call, 99, "use_reentrant"))


def _from(document: Document) -> str:
    return "checkpoint" if "torch.utils.checkpoint" in document.text else ""
