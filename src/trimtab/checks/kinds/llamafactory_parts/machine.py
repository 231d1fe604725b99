"""Precision, recomputation, attention and optimizer switches of LLaMA-Factory."""

from trimtab.checks.kinds.concept_map import Concepts, put, put_each
from trimtab.checks.kinds.written import Written

KERNELS = {"disabled": "eager", "sdpa": "sdpa", "fa2": "flash_attention_2", "fa3": "flash_attention_3"}
SWITCHES = {
    "use_galore": "galore",
    "use_apollo": "apollo",
    "use_badam": "badam",
    "use_adam_mini": "adam_mini",
    "use_muon": "muon",
}
"""Each puts another optimizer in the place of `optim`."""


def put_machine(concepts: Concepts, written: Written) -> None:
    """Tells what is computed how. It recomputes activations unless told not to, in the reentrant way unless FSDP 2
    runs it, and trains fp32 weights unless `pure_bf16`."""
    _put_precision(concepts, written)
    off = written.get("disable_gradient_checkpointing")
    if off is not None and isinstance(off.value, bool):
        put(concepts, "gradient_checkpointing", off, not off.value)
        concepts.pop("use_reentrant", None)
        if not off.value:
            put(concepts, "use_reentrant", written.get("use_reentrant_gc"))
    kernel = written.get("flash_attn")
    put(concepts, "attention_kernel", kernel, KERNELS.get(str(kernel and kernel.value)))
    bits = written.settings.get("quantization_bit")
    put(concepts, "quantization_bits", bits)
    put_each(concepts, written, {"fp8": "fp8"})
    liger = written.get("enable_liger_kernel")
    if liger is not None and liger.value is True:
        put(concepts, "fused_loss", liger, "liger")


def put_optimizer_switches(concepts: Concepts, written: Written) -> None:
    """Tells the optimizer that a switch puts in the place of `optim`."""
    for key, word in SWITCHES.items():
        setting = written.settings.get(key)
        if setting is not None and setting.value is True:
            put(concepts, "optimizer", setting, word)
            for concept in ("optimizer_variant", "optimizer_bits", "optimizer_paged", "stochastic_rounding"):
                concepts.pop(concept, None)


def _put_precision(concepts: Concepts, written: Written) -> None:
    pure, blockwise = written.get("pure_bf16"), written.get("use_badam")
    if pure is not None and pure.value is True:
        put(concepts, "autocast", pure, "none")
        put(concepts, "weights_dtype", pure, "bf16")
        return
    if "autocast" not in concepts and written.value("bf16") is False and written.value("fp16") is False:
        put(concepts, "autocast", written.get("bf16"), "none")
    if blockwise is None or blockwise.value is not True:
        put(concepts, "weights_dtype", pure, "fp32")
