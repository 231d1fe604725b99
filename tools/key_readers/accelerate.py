"""Accelerate: the file of `accelerate config`, whose nested blocks are options of `accelerate launch`."""

import ast
from typing import Any

from key_readers.annotations import NoLiteralError, literal
from key_readers.dataclass_fields import fields_of
from key_readers.tree import Row, Rows, Tree

FILES = ("src/accelerate/utils/dataclasses.py", "src/accelerate/commands/config/config_args.py")
LAUNCH = "src/accelerate/commands/launch.py"
SCALARS = {"int": "integer", "float": "number", "str": "text", "str_to_bool": "boolean"}


def read(trees: list[Tree]) -> dict[str, Any]:
    """`accelerate` is the file, `accelerate_launch` the options of the command."""
    tree = trees[-1]
    options = _options(tree.module(LAUNCH))
    head = {"tool": "accelerate", "library": "accelerate", "version": tree.version, "unknown_keys": "refused"}
    keys = fields_of(tree.module(*FILES), "BaseConfig", "ClusterConfig", "SageMakerConfig")
    return {
        "accelerate": {
            **head,
            "source": f"accelerate {tree.version}: {FILES[1]}, {LAUNCH}",
            "keys": {**keys, **_nested(options)},
        },
        "accelerate_launch": {**head, "source": f"accelerate {tree.version}: {LAUNCH}", "keys": options},
    }


def _options(module: ast.Module) -> Rows:
    rows: Rows = {}
    for node in ast.walk(module):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "add_argument"
        ):
            words = {word.arg: word.value for word in node.keywords if word.arg}
            for name in (argument.value for argument in node.args if isinstance(argument, ast.Constant)):
                if str(name).startswith("--"):
                    rows[str(name).removeprefix("--").replace("-", "_")] = _row(words)
    return rows


def _row(words: dict[str, ast.expr]) -> Row:
    row: Row = {"types": [SCALARS.get(ast.unparse(words["type"]), "any") if "type" in words else "text"]}
    action = words.get("action")
    if isinstance(action, ast.Constant) and str(action.value).startswith("store_"):
        row["types"] = ["boolean"]
    for word in ("default", "choices"):
        if word in words:
            try:
                row[word] = literal(words[word], {})
            except NoLiteralError:
                continue
    return row


def _nested(options: Rows) -> Rows:
    keys: Rows = {}
    for name in options:
        for block, start in _BLOCKS.items():
            if name.startswith(start):
                # In the file they are plain values: 2 or "2", true or "true".
                keys[f"{block}.{name}"] = {"types": ["any"]}
    return keys


_BLOCKS = {
    "deepspeed_config": ("deepspeed_", "zero", "offload_", "gradient_"),
    "fsdp_config": ("fsdp_",),
    "megatron_lm_config": ("megatron_lm_",),
    "parallelism_config": ("parallelism_config_",),
    "dynamo_config": ("dynamo_",),
    "mpirun_config": ("mpirun_",),
}
