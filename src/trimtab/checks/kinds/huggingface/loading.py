"""How a pretrained model is loaded: dtype, attention, quantization; arguments of `from_pretrained` and their like."""

from collections.abc import Mapping

from trimtab.checks.description import Version
from trimtab.checks.kinds.concept_map import Concepts, put
from trimtab.checks.kinds.written import Written
from trimtab.checks.setting import Setting

DTYPES = {
    "float32": "fp32",
    "float": "fp32",
    "fp32": "fp32",
    "bfloat16": "bf16",
    "bf16": "bf16",
    "float16": "fp16",
    "half": "fp16",
    "fp16": "fp16",
    "auto": "auto",
}


def dtype_word(value: object) -> str | None:
    """fp32, bf16, fp16 or auto of `torch.bfloat16`, `"bfloat16"`, `"auto"`; None for anything else."""
    return DTYPES.get(value.removeprefix("torch.").lower()) if isinstance(value, str) else None


def put_loading(
    concepts: Concepts, written: Written, versions: Mapping[str, Version], *, has_default: bool
) -> None:
    """Tells dtype, attention and quantization; `has_default` where the keys are those of `from_pretrained` itself."""
    said = next((written.settings[key] for key in ("dtype", "torch_dtype") if key in written.settings), None)
    if said is not None and said.value is not None:
        put(concepts, "weights_dtype", said, dtype_word(said.value))
    elif has_default and said is None:
        version = versions.get("transformers")
        default = written.set_default("dtype", None, unless=("torch_dtype", "quantization_config"))
        # transformers 4 loaded in fp32 where nothing was said; 5 keeps the dtype of the checkpoint.
        put(
            concepts,
            "weights_dtype",
            default,
            None if version is None else "fp32" if version < (5,) else "auto",
        )
    kernel = written.settings.get("attn_implementation")
    put(concepts, "attention_kernel", kernel)
    old = written.settings.get("use_flash_attention_2")
    if kernel is None and old is not None and old.value is True:
        put(concepts, "attention_kernel", old, "flash_attention_2")
    put_quantization(concepts, written.settings)


def put_quantization(concepts: Concepts, settings: Mapping[str, Setting]) -> None:
    """Tells the bits of frozen weights: `load_in_4bit`, `load_in_8bit`, beside or in a `quantization_config`."""
    for start in ("", "quantization_config."):
        for key, bits in (("load_in_4bit", 4), ("load_in_8bit", 8)):
            setting = settings.get(start + key)
            if setting is not None and setting.value is True:
                put(concepts, "quantization_bits", setting, bits)


def name_quantized_adapter(concepts: Concepts) -> None:
    """LoRA over a quantized base is QLoRA."""
    if "quantization_bits" in concepts and "adapter" in concepts and concepts["adapter"].value == "lora":
        put(concepts, "adapter", concepts["adapter"], "qlora")
