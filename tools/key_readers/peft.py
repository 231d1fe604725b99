"""PEFT: the configurations that become an `adapter_config.json`."""

from typing import Any

from key_readers.dataclass_fields import fields_of
from key_readers.history import with_history
from key_readers.tree import Rows, Tree

METHODS = {"lora": ("LoraConfig",), "adalora": ("LoraConfig", "AdaLoraConfig"), "oft": ("OFTConfig",)}
FOLDER = "src/peft/"
ENUMS = f"{FOLDER}utils/peft_types.py"


def read(trees: list[Tree]) -> dict[str, Any]:
    """One table a method; a key that none of them knows is warned about and dropped when an adapter is loaded."""
    version = trees[-1].version
    return {
        f"peft_{method}": {
            "tool": "peft",
            "library": "peft",
            "version": version,
            "source": f"peft {version}: {FOLDER}tuners/{method}/config.py",
            "unknown_keys": "dropped",
            "keys": with_history([(tree, _rows(tree, method, classes)) for tree in trees]),
        }
        for method, classes in METHODS.items()
    }


def _rows(tree: Tree, method: str, classes: tuple[str, ...]) -> Rows:
    files = (f"{FOLDER}config.py", f"{FOLDER}tuners/lora/config.py", f"{FOLDER}tuners/{method}/config.py")
    return fields_of(tree.module(ENUMS, *dict.fromkeys(files)), "PeftConfigMixin", "PeftConfig", *classes)
