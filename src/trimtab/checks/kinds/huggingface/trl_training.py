"""What TRL's SFTConfig and DPOConfig say besides TrainingArguments, and the model arguments of its command line."""

from collections.abc import Mapping
from dataclasses import replace

from trimtab.checks.description import Version
from trimtab.checks.kinds.concept_map import Concepts, put, put_each, text_list
from trimtab.checks.kinds.huggingface.adapter import adapter_concepts
from trimtab.checks.kinds.huggingface.loading import dtype_word, name_quantized_adapter, put_loading
from trimtab.checks.kinds.model_names import put_model_name
from trimtab.checks.kinds.written import Written, below
from trimtab.checks.setting import Setting

TASKS = {"sft": "language_model", "dpo": "preference", "kto": "preference", "reward": "reward"}


def put_trl(concepts: Concepts, written: Written, versions: Mapping[str, Version], trainer: str) -> None:
    """Tells packing, length, loss and precision as TRL's own defaults have them."""
    length = written.get("max_length") if "max_seq_length" not in written.hidden else None
    old = written.settings.get("max_seq_length")
    put(concepts, "sequence_length", old if old and "max_length" not in written.settings else length)
    if trainer == "sft":
        _put_packing(concepts, written, versions)
        put(concepts, "loss_on_prompt", *_loss_on_prompt(written))
    put(concepts, "eos_token", written.settings.get("eos_token"))
    put(concepts, "pad_token", written.settings.get("pad_token"))
    put(concepts, "chat_template", written.settings.get("chat_template_path"))
    _put_autocast(concepts, written)
    _put_reentrant(concepts, written, versions)
    inner = below(written.settings, "model_init_kwargs")
    put_loading(
        concepts, Written(path=written.path, settings=inner, is_whole=False), versions, has_default=False
    )
    if "fused_loss" not in concepts and written.value("loss_type") == "chunked_nll":
        put(concepts, "fused_loss", written.get("loss_type"), "chunked")


def put_script(concepts: Concepts, written: Written, versions: Mapping[str, Version]) -> None:
    """Tells ModelConfig and ScriptArguments: the rest of a file for `trl sft --config`."""
    put_model_name(concepts, written.settings.get("model_name_or_path"))
    put_loading(concepts, written, versions, has_default=False)
    default = written.get("dtype")
    if "weights_dtype" not in concepts and "torch_dtype" not in written.settings and default is not None:
        put(concepts, "weights_dtype", default, dtype_word(default.value))
    dataset = written.settings.get("dataset_name")
    put(concepts, "corpora", dataset, text_list(dataset.value) if dataset else None)
    switch = written.get("use_peft")
    if switch is None or switch.value is not True:
        put(concepts, "adapter", switch, "none" if switch and switch.value is False else None)
        return
    own = {_PEFT[name]: setting for name, setting in written.settings.items() if name in _PEFT}
    defaults = {
        peft: replace(setting, origin="default")
        for name, peft in _PEFT.items()
        if peft not in own and (setting := written.get(name)) is not None
    }
    hidden = frozenset(_PEFT[name] for name in written.hidden if name in _PEFT)
    adapter = Written(path=written.path, settings={**own, **defaults}, hidden=hidden, is_whole=False)
    concepts |= adapter_concepts(adapter, "lora")
    put(concepts, "adapter", switch, "lora")
    name_quantized_adapter(concepts)


_PEFT = {
    "lora_r": "r",
    "lora_alpha": "lora_alpha",
    "lora_dropout": "lora_dropout",
    "lora_target_modules": "target_modules",
    "lora_target_parameters": "target_parameters",
    "lora_modules_to_save": "modules_to_save",
    "use_rslora": "use_rslora",
    "use_dora": "use_dora",
}


def _put_packing(concepts: Concepts, written: Written, versions: Mapping[str, Version]) -> None:
    put_each(concepts, written, {"packing": "packing"})
    packing, strategy = written.get("packing"), written.get("packing_strategy")
    if packing is None or packing.value is not True:
        return
    version = versions.get("trl")
    if version is not None and version < (0, 18):
        put(concepts, "packing_isolated", packing, False)
    elif strategy is not None and strategy.value == "wrapped":
        put(concepts, "packing_isolated", strategy, False)
    elif strategy is not None and (kernel := written.settings.get("attn_implementation")) is not None:
        # Only kernels for lengths of their own see where a document ends.
        put(concepts, "packing_isolated", strategy, True if "flash" in str(kernel.value) else None)


def _loss_on_prompt(written: Written) -> tuple[Setting | None, bool | None]:
    for key in ("assistant_only_loss", "completion_only_loss"):
        setting = written.settings.get(key)
        if setting is not None and setting.value is True:
            return setting, False
    only = written.settings.get("completion_only_loss")
    return (only, True) if only is not None and only.value is False else (None, None)


def _put_autocast(concepts: Concepts, written: Written) -> None:
    brain, half = written.get("bf16"), written.get("fp16")
    if "autocast" in concepts or brain is None or half is None:
        return
    if brain.value is None and half.value is False:
        put(concepts, "autocast", brain, "bf16")


def _put_reentrant(concepts: Concepts, written: Written, versions: Mapping[str, Version]) -> None:
    setting = concepts.get("use_reentrant")
    known = versions.get("trl")
    if setting is not None and not setting.is_written and setting.value is True:
        # Newer releases put False in where transformers 4 would have passed True.
        if known is not None and known >= (0, 28):
            put(concepts, "use_reentrant", setting, False)
        else:
            concepts.pop("use_reentrant")
