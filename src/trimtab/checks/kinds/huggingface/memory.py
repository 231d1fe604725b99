"""Precision, recomputation, compilation and sharding of TrainingArguments."""

from trimtab.checks.description import Version
from trimtab.checks.kinds.concept_map import Concepts, put, put_wrapped
from trimtab.checks.kinds.written import Written, below
from trimtab.checks.setting import Setting


def put_precision(concepts: Concepts, written: Written) -> None:
    """Tells autocast where it is written (else the launcher's environment decides) and TF32."""
    half, brain = written.get("fp16"), written.get("bf16")
    if half is not None and half.value is True:
        put(concepts, "autocast", half, "fp16")
    elif brain is not None and brain.value is True:
        put(concepts, "autocast", brain, "bf16")
    elif brain is not None and brain.is_written and brain.value is False and half and half.value is False:
        put(concepts, "autocast", brain, "none")
    elif half is not None and half.is_written and half.value is False and brain and brain.value is False:
        put(concepts, "autocast", half, "none")
    put(concepts, "tf32", written.get("tf32"))


def put_recomputation(concepts: Concepts, written: Written, version: Version | None) -> None:
    """Tells whether activations are computed again, and of which kind."""
    setting, kwargs = checkpointing_switch(written), "activation_checkpointing_kwargs"
    put(concepts, "gradient_checkpointing", setting)
    if setting is None or setting.value is not True:
        return
    if kwargs not in written.settings and kwargs not in written.hidden:
        kwargs = "gradient_checkpointing_kwargs"
    inner = written.settings.get(f"{kwargs}.use_reentrant")
    if inner is not None:
        put(concepts, "use_reentrant", inner)
        return
    given = written.settings.get(kwargs)
    if kwargs in written.hidden or not written.is_whole or (given and given.value):
        return
    # transformers 5 passes use_reentrant=False where nothing is said, transformers 4 passed True.
    if version is not None:
        put(concepts, "use_reentrant", written.default(f"{kwargs}.use_reentrant", version < (5,)))


def checkpointing_switch(written: Written) -> Setting | None:
    """The key that decides: the new name where it is set, else the old one."""
    new, old = "activation_checkpointing", "gradient_checkpointing"
    if new in written.settings and written.settings[new].value is not None:
        return written.settings[new]
    if new in written.hidden:
        return None
    setting = written.get(old)
    if setting is not None and setting.value is None:
        return Setting(key=setting.key, value=False, place=setting.place, origin="default")
    return setting


def put_compile(concepts: Concepts, written: Written) -> None:
    """Tells `torch.compile`: a backend or a mode turns it on."""
    for key in ("torch_compile_backend", "torch_compile_mode", "torchdynamo"):
        setting = written.settings.get(key)
        if setting is not None and setting.value is not None:
            put(concepts, "compile", setting, True)
            return
        if key in written.hidden:
            return
    put(concepts, "compile", written.get("torch_compile"))


def put_sharding(concepts: Concepts, written: Written, version: Version | None) -> None:
    """Tells DeepSpeed and FSDP where they are written: a launcher can turn both on from outside."""
    engine = written.settings.get("deepspeed")
    if engine is not None and engine.value:
        put(concepts, "deepspeed", engine, True)
    sharded = written.settings.get("fsdp")
    if sharded is None or not sharded.value:
        return
    options = below(written.settings, "fsdp_config")
    put_wrapped(concepts, written.settings.get("fsdp_transformer_layer_cls_to_wrap"))
    for name in ("transformer_layer_cls_to_wrap", "fsdp_transformer_layer_cls_to_wrap"):
        put_wrapped(concepts, options.get(name))
    number = next((options[key] for key in ("version", "fsdp_version") if key in options), None)
    if number is not None:
        put(concepts, "fsdp", number, int(number.value) if str(number.value) in ("1", "2") else None)
    elif version is not None and "fsdp_config" not in written.hidden:
        config = written.settings.get("fsdp_config")
        if not (config and isinstance(config.value, str)):
            put(concepts, "fsdp", sharded, 2 if version >= (5, 12) else 1 if version < (5, 9) else None)
