"""Precision, recomputation, fused losses, attention and sharding of Axolotl."""

import re

from trimtab.checks.kinds.concept_map import Concepts, put, put_each, put_wrapped
from trimtab.checks.kinds.written import Written
from trimtab.checks.setting import Setting

KERNELS = {
    "flash_attention": "flash_attention_2",
    "sdp_attention": "sdpa",
    "flex_attention": "flex_attention",
    "xformers_attention": "xformers",
    "sage_attention": "sage",
    "eager_attention": "eager",
}
"""Old switches for what `attn_implementation` names."""
CUT_CROSS_ENTROPY = "CutCrossEntropyPlugin"


def put_precision(concepts: Concepts, written: Written) -> None:
    """Tells precision. `bf16: true` loads the weights in bf16, too, and wins over fp16; what `auto` becomes depends
    on the GPU."""
    half, brain = written.settings.get("fp16"), written.get("bf16")
    pure = {key: written.settings.get(key) for key in ("bfloat16", "float16")}
    brain_value = brain.value if brain is not None else None
    if brain is not None and brain_value in (True, "full"):
        put(concepts, "autocast", brain, "bf16" if brain_value is True else "none")
        _put_weights(concepts, written, brain, "bf16")
    elif _is_true(half) and half is not None and brain_value in (False, None, "auto"):
        put(concepts, "autocast", half, "fp16")
        _put_weights(concepts, written, half, "fp16")
    elif _is_true(pure["bfloat16"]):
        _put_weights(concepts, written, pure["bfloat16"], "bf16")
    elif _is_true(pure["float16"]) and brain_value is False:
        _put_weights(concepts, written, pure["float16"], "fp16")
    elif brain is not None and brain_value is False:
        put(concepts, "autocast", brain, "none")
        in_eight_bits = written.value("load_in_8bit") is True
        _put_weights(concepts, written, brain, "fp16" if in_eight_bits else "fp32")
    put(concepts, "tf32", written.get("tf32"))
    put(concepts, "fp8", written.get("fp8"))
    _put_quantization(concepts, written)


def put_machine(concepts: Concepts, written: Written) -> None:
    """Tells what saves memory and time."""
    _put_recomputation(concepts, written)
    _put_kernel(concepts, written)
    _put_fused_loss(concepts, written)
    put_each(concepts, written, {"compile": "torch_compile", "neftune_alpha": "neftune_noise_alpha"})
    if "neftune_alpha" not in concepts:
        put(concepts, "neftune_alpha", written.get("noisy_embedding_alpha"))
    _put_sharding(concepts, written)


def _is_true(setting: Setting | None) -> bool:
    return setting is not None and setting.value is True


def _put_weights(concepts: Concepts, written: Written, setting: Setting | None, loaded: str) -> None:
    """Adapters are fp32 by PEFT's default whatever the base model is loaded in."""
    if setting is None or "adapter" in written.hidden:
        return
    has_adapter = bool(written.value("adapter"))
    casts = written.settings.get("peft_autocast_adapter_dtype")
    is_cast = not (casts is not None and casts.value is False)
    put(concepts, "weights_dtype", setting, "fp32" if has_adapter and is_cast else loaded)


def _put_quantization(concepts: Concepts, written: Written) -> None:
    for key, bits in (("load_in_4bit", 4), ("load_in_8bit", 8), ("gptq", 4)):
        setting = written.settings.get(key)
        if _is_true(setting):
            put(concepts, "quantization_bits", setting, bits)
            return


def _put_recomputation(concepts: Concepts, written: Written) -> None:
    """Tells the kind that it takes where none is written: reentrant, but not in preference training and not with
    partly frozen models."""
    switch = written.get("gradient_checkpointing")
    if switch is None:
        return
    put(concepts, "gradient_checkpointing", switch, bool(switch.value))
    if not switch.value:
        return
    options = written.settings.get("gradient_checkpointing_kwargs")
    if options is not None and options.value is not None:
        put(concepts, "use_reentrant", written.settings.get("gradient_checkpointing_kwargs.use_reentrant"))
        return
    family = concepts.get("model_family")
    name = str(written.value("base_model")).lower()
    if "gemma-4" in name or (family is not None and str(family.value).startswith("gemma4")):
        return
    is_plain = not any(written.value(key) is not None for key in ("rl", "unfrozen_parameters"))
    put(concepts, "use_reentrant", written.default("gradient_checkpointing_kwargs.use_reentrant", is_plain))


def _put_kernel(concepts: Concepts, written: Written) -> None:
    named = written.settings.get("attn_implementation")
    if named is not None and named.value is not None:
        put(concepts, "attention_kernel", named)
        return
    for key, kernel in KERNELS.items():
        if _is_true(written.settings.get(key)):
            put(concepts, "attention_kernel", written.settings[key], kernel)
            return


def _put_fused_loss(concepts: Concepts, written: Written) -> None:
    cut = written.settings.get("cut_cross_entropy")
    plugins = written.settings.get("plugins")
    names = str(plugins.value) if plugins is not None else ""
    if _is_true(cut) or (cut is None and CUT_CROSS_ENTROPY in names):
        put(concepts, "fused_loss", cut or plugins, "cut_cross_entropy")
    for key, word in (("liger_fused_linear_cross_entropy", "liger"), ("chunked_cross_entropy", "chunked")):
        if _is_true(written.settings.get(key)):
            put(concepts, "fused_loss", written.settings[key], word)


def _put_sharding(concepts: Concepts, written: Written) -> None:
    engine = written.settings.get("deepspeed")
    if engine is not None and engine.value:
        put(concepts, "deepspeed", engine, True)
        stage = re.search(r"zero_?([0-3])", str(engine.value), re.IGNORECASE)
        if isinstance(engine.value, str) and stage is not None:
            put(concepts, "zero_stage", engine, int(stage[1]))
            put(concepts, "offload", engine, True if "offload" in engine.value.lower() else None)
        put(concepts, "zero_stage", written.settings.get("deepspeed.zero_optimization.stage"))
    config = written.settings.get("fsdp_config") or written.settings.get("fsdp")
    if config is None or not config.value:
        return
    keys = ("fsdp_version", "fsdp_config.fsdp_version", "fsdp_config.version")
    version = next((written.settings[key] for key in keys if key in written.settings), None)
    if version is None:
        put(concepts, "fsdp", config, 1)
    elif str(version.value) in ("1", "2"):
        put(concepts, "fsdp", version, int(version.value))
    for name in ("transformer_layer_cls_to_wrap", "fsdp_transformer_layer_cls_to_wrap"):
        put_wrapped(concepts, written.settings.get(f"fsdp_config.{name}"))
    for key in ("fsdp_config.offload_params", "fsdp_config.fsdp_offload_params"):
        put(concepts, "offload", written.settings.get(key))
