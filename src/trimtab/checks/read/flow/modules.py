"""Which value is a model, by what made it."""

from typing import Final

from trimtab.checks.read.flow.values import Value

_LOADS: Final = frozenset({"from_pretrained", "from_config", "prepare_model_for_kbit_training"})
_MODULES: Final = ("torch.nn.", "torchvision.models.", "timm.", "transformers.", "x_transformers.")
_WRAPPERS: Final = frozenset(
    {
        "DistributedDataParallel", "DataParallel", "DDP", "compile", "get_peft_model", "FullyShardedDataParallel",
        "FSDP",
    }
)  # fmt: skip


def is_module(value: Value) -> bool:
    """Whether a value is seen to be a model: made by a loader, a class of modules, or wrapped around one."""
    if value.made == "object":
        return value.of is not None and is_module_class(value.of)
    if value.made == "either":
        return any(is_module(each) for each in value.args)
    if value.made != "call":
        return False
    if value.last in _LOADS and "okenizer" not in value.name and "rocessor" not in value.name:
        return True
    if value.last in _WRAPPERS and value.args:
        return True
    if value.name.startswith("torchvision.models.") and "weights" not in value.last.lower():
        return True  # functions with names in lower case: `resnet18()`
    if value.name in ("timm.create_model", "timm.models.create_model", "torch.hub.load"):
        return True
    return (
        value.name.startswith(_MODULES)
        and value.last[:1].isupper()
        and not value.last.endswith(("Config", "Loss"))
    )


def is_module_class(value: Value) -> bool:
    """Whether a class of the script is a module, by its bases."""
    return any(
        base.name.endswith(("Module", "PreTrainedModel", "LightningModule"))
        or base.last.endswith(("Model", "LMHeadModel", "ForCausalLM", "ForConditionalGeneration", "Module"))
        or (base.made == "class" and is_module_class(base))
        for base in value.args
    )


_OF_PROCESSES: Final = ("DistributedDataParallel", "DDP", "FullyShardedDataParallel", "FSDP", "fully_shard")


def is_wrapper_of_processes(value: Value) -> bool:
    """Whether a call wraps a model for training in several processes: DistributedDataParallel, FSDP."""
    return (
        value.made == "call"
        and value.last in _OF_PROCESSES
        and value.name.startswith("torch.")
        and bool(value.args)
    )
