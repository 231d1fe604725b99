"""Loss scaling and autocast in a script."""

from typing import Final

from trimtab.checks.read.flow.values import Block, Event, Value

HANDLED: Final = frozenset(
    {
        "accelerate",
        "lightning",
        "pytorch_lightning",
        "lightning_fabric",
        "deepspeed",
        "apex",
        "fairscale",
        "colossalai",
    }
)
"""Libraries that scale the loss, or enter autocast, by themselves."""


def is_off(call: Value) -> bool:
    """Whether `enabled=False` is written."""
    given = call.keywords.get("enabled")
    return given is not None and given.constant is False


def is_half_autocast(value: Value) -> bool:
    """Whether it is CUDA's autocast in fp16, which is what it does without a `dtype`."""
    if value.made != "call" or value.last != "autocast" or is_off(value) or value.has_rest:
        return False
    dtype = value.keywords.get("dtype")
    if value.name.startswith("torch.cuda.amp."):
        dtype = dtype or value.argument(1, "dtype")
        is_cuda = True
    else:
        device = value.argument(0, "device_type")
        dtype = dtype or value.argument(1, "dtype")
        is_cuda = device is not None and str(device.constant).startswith("cuda")
    is_half = dtype is None or dtype.name in ("torch.float16", "torch.half")
    return value.name.startswith("torch.") and is_cuda and is_half


def half_blocks(event: Event) -> list[Block]:
    """The stretches of fp16 autocast around an event."""
    return [block for block in event.path if any(is_half_autocast(each) for each in block.contexts)]
