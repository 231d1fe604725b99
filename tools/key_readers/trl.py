"""TRL: the configurations of its trainers, and what `trl sft --config FILE` takes besides."""

from typing import Any

from key_readers.dataclass_fields import fields_of
from key_readers.history import with_history
from key_readers.tree import Rows, Tree

TRAINERS = {
    "sft": "SFTConfig",
    "dpo": "DPOConfig",
    "kto": "KTOConfig",
    "reward": "RewardConfig",
    "grpo": "GRPOConfig",
    "rloo": "RLOOConfig",
}
SCRIPT = ("trl/trainer/model_config.py", "trl/scripts/utils.py", "trl/utils.py")
SCRIPT_CLASSES = ("ModelConfig", "ScriptArguments", "DatasetMixtureConfig")


def read(trees: list[Tree]) -> dict[str, Any]:
    """`trl_sft` and its like are the classes; `trl_script` the rest of a file for the command line."""
    version = trees[-1].version
    head: dict[str, Any] = {"tool": "trl", "library": "trl", "version": version}
    tables: dict[str, Any] = {}
    for name, config in TRAINERS.items():
        tables[f"trl_{name}"] = {
            **head,
            "source": f"trl {version}: trl/trainer/{name}_config.py",
            "unknown_keys": "refused",
            "includes": ["transformers"],
            "keys": with_history([(tree, rows) for tree in trees if (rows := _trainer(tree, name, config))]),
        }
    tables["trl_script"] = {
        **head,
        "source": f"trl {version}: {', '.join(SCRIPT[:2])}",
        "unknown_keys": "refused",
        "keys": with_history([(tree, fields_of(tree.module(*SCRIPT), *SCRIPT_CLASSES)) for tree in trees]),
    }
    return tables


def _trainer(tree: Tree, name: str, config: str) -> Rows:
    files = ("trl/trainer/base_config.py", f"trl/trainer/{name}_config.py")
    return fields_of(tree.module(*files), "_BaseConfig", "BaseConfig", config)
