"""Eole: the models of its training, prediction and server files."""

import ast
from typing import Any

from key_readers.argparse_options import constants_of
from key_readers.pydantic_models import Models, either
from key_readers.tree import Rows, Tree

CONFIG = "eole/config"
FILES = ("config", "common", "data", "training", "inference", "models", "run")
ARCHITECTURES = (
    "TransformerModelConfig",
    "TransformerLMModelConfig",
    "TransformerEncoderModelConfig",
    "VisionTransformerLMModelConfig",
    "WhisperModelConfig",
    "RnnModelConfig",
    "CnnModelConfig",
    "CustomModelConfig",
    "TransformerEncoderScorerModelConfig",
)
"""What `model` may be, by its `architecture`."""


def read(trees: list[Tree]) -> dict[str, Any]:
    """`eole` for training, `eole_predict` for prediction."""
    tree = trees[-1]
    transforms = sorted((tree.folder / "eole/transforms").glob("*.py"))
    files = [f"{CONFIG}/{name}.py" for name in FILES]
    module = tree.module(
        "eole/constants.py", *files, *(str(path.relative_to(tree.folder)) for path in transforms)
    )
    models = Models(module, constants_of(tree.module("eole/constants.py")))
    head = {"tool": "eole", "library": "eole", "version": tree.version, "unknown_keys": "refused"}
    shared = {**_model(models), **_transforms(models, module)}
    return {
        "eole": {
            **head,
            "source": f"eole {tree.version}: {CONFIG}/run.py, TrainConfig",
            "keys": {**models.rows("TrainConfig"), **shared},
        },
        "eole_predict": {
            **head,
            "source": f"eole {tree.version}: {CONFIG}/run.py, PredictConfig",
            "keys": {**models.rows("InferenceConfig", "PredictConfig"), **shared},
        },
    }


def _model(models: Models) -> Rows:
    rows: Rows = {}
    for name in ARCHITECTURES:
        rows = either(rows, models.rows(name, prefix="model."))
    return {"model": {"types": ["mapping"]}, **rows}


def _transforms(models: Models, module: ast.Module) -> Rows:
    rows: Rows = {"transforms_configs": {"types": ["mapping"]}}
    for node in module.body:
        if not isinstance(node, ast.ClassDef):
            continue
        lineage = [models.classes[name] for name in reversed(models.lineage(node.name))]
        config = [line.value.id for ancestor in lineage for line in ancestor.body if _names_config(line)]  # type: ignore[attr-defined]
        for mark in node.decorator_list:
            if config and isinstance(mark, ast.Call):
                name = ast.literal_eval(mark.keywords[0].value)
                rows[f"transforms_configs.{name}"] = {"types": ["mapping"]}
                rows |= models.rows(config[0], prefix=f"transforms_configs.{name}.")
    return rows


def _names_config(line: ast.stmt) -> bool:
    return (
        isinstance(line, ast.Assign)
        and isinstance(line.value, ast.Name)
        and any(isinstance(target, ast.Name) and target.id == "config_model" for target in line.targets)
    )
