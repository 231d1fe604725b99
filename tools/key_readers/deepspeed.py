"""DeepSpeed: blocks of the JSON configuration that are pydantic models. They refuse what they do not know.

The names of the top level are looked up one by one all over its code, and are written by hand in the facts.
"""

from typing import Any

from key_readers.annotations import enums_of
from key_readers.dataclass_fields import fields_of
from key_readers.tree import Rows, Tree

RUNTIME = "deepspeed/runtime/"
BLOCKS = {
    "zero_optimization": (f"{RUNTIME}zero/config.py", "DeepSpeedZeroConfig"),
    "zero_optimization.offload_param": (
        f"{RUNTIME}zero/offload_config.py",
        "DeepSpeedZeroOffloadParamConfig",
    ),
    "zero_optimization.offload_optimizer": (
        f"{RUNTIME}zero/offload_config.py",
        "DeepSpeedZeroOffloadOptimizerConfig",
    ),
    "fp16": (f"{RUNTIME}precision_config.py", "DeepSpeedFP16Config"),
    "bf16": (f"{RUNTIME}precision_config.py", "DeepSpeedBF16Config"),
}


def read(trees: list[Tree]) -> dict[str, Any]:
    """One table. All values are "any": whoever starts it may fill in each that is the text `auto`."""
    tree = trees[-1]
    keys: Rows = {}
    enums = enums_of(tree.module(f"{RUNTIME}zero/offload_config.py", f"{RUNTIME}zero/config.py"))
    for block, (file, model) in BLOCKS.items():
        keys[block] = {"types": ["mapping"]}
        for name, row in fields_of(tree.module(file), model, enums=enums).items():
            keys[f"{block}.{name}"] = {**row, "types": ["any"]}
    return {
        "deepspeed": {
            "tool": "deepspeed",
            "library": "deepspeed",
            "version": tree.version,
            "source": f"deepspeed {tree.version}: {RUNTIME}config.py, {RUNTIME}zero/config.py",
            "unknown_keys": "dropped",
            "keys": keys,
        }
    }
