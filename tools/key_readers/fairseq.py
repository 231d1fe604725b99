"""fairseq: options of `fairseq-train`, to which models, tasks, losses, optimizers and schedules add, and of Hydra."""

import ast
from collections.abc import Iterator
from typing import Any

from key_readers.annotations import NoLiteralError, enums_of, literal, types_of
from key_readers.argparse_options import SCALARS
from key_readers.tree import Row, Rows, Tree

CONFIGS = "fairseq/dataclass/configs.py"
GROUPS = {
    "common": "CommonConfig",
    "common_eval": "CommonEvalConfig",
    "distributed_training": "DistributedTrainingConfig",
    "dataset": "DatasetConfig",
    "optimization": "OptimizationConfig",
    "checkpoint": "CheckpointConfig",
    "bmuf": "FairseqBMUFConfig",
    "generation": "GenerationConfig",
    "eval_lm": "EvalLMConfig",
    "interactive": "InteractiveConfig",
    "ema": "EMAConfig",
}
"""Of Hydra's configuration, by the fields of FairseqConfig."""
TRAINING = (
    "CommonConfig", "DistributedTrainingConfig", "DatasetConfig", "OptimizationConfig", "CheckpointConfig", "EMAConfig",
    "FairseqBMUFConfig",
)  # fmt: skip
CHOSEN = (
    "model",
    "task",
    "criterion",
    "optimizer",
    "lr_scheduler",
    "bpe",
    "tokenizer",
    "scoring",
    "simul_type",
)
"""Groups of Hydra's configuration whose fields `_name` decides."""
FOLDERS = (
    "examples", "fairseq/models", "fairseq/tasks", "fairseq/criterions", "fairseq/optim", "fairseq/data",
    "fairseq/scoring", "fairseq/model_parallel",
)  # fmt: skip
"""Where options are added; what is in the examples needs `--user-dir`, but is no slip."""
DECIDED = (
    "fairseq/optim/adam.py", "fairseq/optim/adafactor.py", "fairseq/optim/sgd.py", "fairseq/optim/nag.py",
    "fairseq/criterions/label_smoothed_cross_entropy.py", "fairseq/tasks/translation.py",
    "fairseq/optim/lr_scheduler/inverse_square_root_schedule.py",
    "fairseq/models/transformer/transformer_config.py",
)  # fmt: skip
"""Where the types of options of a translation run are; a name that others have too may have another default there."""
REGISTERED = {
    "register_optimizer": "optimizer", "register_lr_scheduler": "lr-scheduler", "register_criterion": "criterion",
    "register_task": "task", "register_model_architecture": "arch", "register_model": "arch",
}  # fmt: skip
BINARIZING = "fairseq/options.py"


def read(trees: list[Tree]) -> dict[str, Any]:
    """`fairseq` for the command line, `fairseq_hydra` for YAML, `fairseq_preprocess` for binarizing."""
    tree = trees[-1]
    head = {"tool": "fairseq", "library": "fairseq", "version": tree.version, "unknown_keys": "refused"}
    source = f"fairseq {tree.version}: {CONFIGS}, and what fairseq/{{models,tasks,criterions,optim}} register"
    return {
        "fairseq": {**head, "source": source, "keys": _command_line(tree)},
        "fairseq_hydra": {**head, "source": source, "keys": _hydra(tree)},
        "fairseq_preprocess": {
            **head,
            "source": f"fairseq {tree.version}: {BINARIZING}, add_preprocess_args",
            "keys": _preprocessing(tree),
        },
    }


def _command_line(tree: Tree) -> Rows:
    rows: Rows = {}
    for path in _files(tree, *FOLDERS):
        module = tree.module(path)
        rows |= {name: {"types": ["any"]} for name, _ in _added(module) if name not in rows}
        for name in _fields(module, path):
            rows.setdefault(_dashed(name), {"types": ["any"]})
    for path in DECIDED:
        rows |= {_dashed(name): row for name, row in _flat(tree.module(path)).items()}
    classes = _classes(tree.module(CONFIGS))
    for name in reversed(TRAINING):  # some repeat a field of the first ones
        rows |= _with_aliases(classes[name], tree)
    rows |= {key: {"types": ["text"], "choices": names} for key, names in _registered(tree).items()}
    rows |= {name: {"types": ["text"]} for name in ("bpe", "tokenizer", "scoring", "simul-type")}
    rows["data"] = {"types": ["text"]}
    return {name: row for name, row in rows.items() if not name.startswith("-")}


def _hydra(tree: Tree) -> Rows:
    module = tree.module(CONFIGS)
    classes, rows = _classes(module), dict[str, Row]()
    for group, name in GROUPS.items():
        rows[group] = {"types": ["mapping"]}
        rows |= {f"{group}.{key}": row for key, row in _class_rows(classes[name], tree).items()}
    for group in CHOSEN:
        rows[group] = {"types": ["mapping", "text"]}
        rows[f"{group}._name"] = {"types": ["text"]}
    registered = _registered(tree)
    rows["optimizer._name"] |= {"choices": registered["optimizer"]}
    rows["lr_scheduler._name"] |= {"choices": registered["lr-scheduler"]}
    for folder, group in (
        ("fairseq/models", "model"), ("fairseq/tasks", "task"), ("fairseq/criterions", "criterion"),
        ("fairseq/optim", "optimizer"), ("fairseq/optim/lr_scheduler", "lr_scheduler"),
    ):  # fmt: skip
        for path in _files(tree, folder):
            if group == "optimizer" and "lr_scheduler" in path:
                continue
            for name in _fields(tree.module(path), path):
                rows.setdefault(f"{group}.{name}", {"types": ["any"]})
    for side in ("encoder", "decoder", "quant_noise"):
        rows[f"model.{side}"] = {"types": ["mapping"]}
    config = _classes(tree.module("fairseq/models/transformer/transformer_config.py"))
    for side, name in (
        ("encoder", "EncDecBaseConfig"),
        ("decoder", "EncDecBaseConfig"),
        ("decoder", "DecoderConfig"),
    ):
        rows |= {f"model.{side}.{key}": {**row} for key, row in _class_rows(config[name], tree).items()}
    rows |= {
        f"model.quant_noise.{key}": row for key, row in _class_rows(config["QuantNoiseConfig"], tree).items()
    }
    # A name that depends on what is chosen may be one of a plug-in.
    for group in CHOSEN:
        rows[group]["open"] = True
    rows |= {
        name: {"types": ["any"], "open": True}
        for name in ("defaults", "hydra", "job_logging_cfg", "decoding")
    }
    return rows


def _preprocessing(tree: Tree) -> Rows:
    module = tree.module(BINARIZING)
    function = next(
        node
        for node in module.body
        if isinstance(node, ast.FunctionDef) and node.name == "add_preprocess_args"
    )
    classes = _classes(tree.module(CONFIGS))
    rows = _with_aliases(classes["CommonConfig"], tree)
    return (
        rows
        | dict(_added(function))
        | {
            name: {"types": ["text"]}
            for name in ("task", "bpe", "tokenizer", "optimizer", "criterion", "lr-scheduler")
        }
    )


def _files(tree: Tree, *folders: str) -> Iterator[str]:
    for folder in folders:
        for path in sorted((tree.folder / folder).rglob("*.py")):
            yield str(path.relative_to(tree.folder))


def _added(module: ast.AST) -> Iterator[tuple[str, Row]]:
    """Options of calls of `add_argument`, under each of their long names."""
    for call in ast.walk(module):
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            continue
        if call.func.attr != "add_argument":
            continue
        words = {word.arg: word.value for word in call.keywords}
        action = ast.unparse(words["action"]).strip("'\"") if "action" in words else ""
        kind = SCALARS.get(ast.unparse(words["type"]), "any") if "type" in words else "text"
        row: Row = {"types": ["boolean" if action.startswith("store_") else kind]}
        if action == "store_true":
            row["default"] = False
        for argument in call.args:
            if isinstance(argument, ast.Constant) and str(argument.value).startswith("--"):
                yield str(argument.value).removeprefix("--"), row


def _classes(module: ast.Module) -> dict[str, ast.ClassDef]:
    return {node.name: node for node in module.body if isinstance(node, ast.ClassDef)}


def _fields(module: ast.Module, path: str) -> Iterator[str]:
    """Names of the fields of all dataclasses of a file."""
    for node in module.body:
        if isinstance(node, ast.ClassDef) and any(
            "dataclass" in ast.unparse(mark) for mark in node.decorator_list
        ):
            for line in node.body:
                is_field = isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name)
                if is_field and not line.target.id.startswith("_"):
                    yield line.target.id


def _flat(module: ast.Module) -> Rows:
    """Rows of a file's dataclasses; those of the two sides of a transformer with their side before the name."""
    rows: Rows = {}
    for name, node in _classes(module).items():
        own = _class_rows(node, None)
        if name == "EncDecBaseConfig":
            own = {f"{side}_{key}": row for side in ("encoder", "decoder") for key, row in own.items()}
        elif name == "DecoderConfig":
            own = {f"decoder_{key}": row for key, row in own.items()}
        elif name == "QuantNoiseConfig":
            own = {f"quant_noise_{key}": row for key, row in own.items()}
        rows |= {key: row for key, row in own.items() if key not in ("encoder", "decoder", "quant_noise")}
    return rows


def _with_aliases(node: ast.ClassDef, tree: Tree) -> Rows:
    """The rows of a dataclass by dashed names, `argparse_alias` as a name of its own."""
    rows: Rows = {}
    for name, row in _class_rows(node, tree).items():
        rows[_dashed(name)] = row
    for line in node.body:
        if (
            isinstance(line, ast.AnnAssign)
            and isinstance(line.target, ast.Name)
            and isinstance(line.value, ast.Call)
        ):
            alias = _metadata(line.value).get("argparse_alias")
            if isinstance(alias, str) and alias.startswith("--"):
                rows[alias.removeprefix("--")] = rows[_dashed(line.target.id)]
    return rows


def _class_rows(node: ast.ClassDef, tree: Tree | None) -> Rows:
    enums = enums_of(tree.module(CONFIGS)) if tree else {}
    rows: Rows = {}
    for line in node.body:
        if not isinstance(line, ast.AnnAssign) or not isinstance(line.target, ast.Name):
            continue
        row: Row = types_of(line.annotation, enums)
        if "list" in row["types"]:  # type: ignore[operator]
            # The command line has them as one text, `[0.0005]` or `1,2`.
            row["types"] = ["list", "number", "text"]
        default = _default(line.value)
        if default is not ...:
            row["default"] = default
        rows[line.target.id] = row
    return rows


def _default(value: ast.expr | None) -> Any:
    if isinstance(value, ast.Call):
        if ast.unparse(value.func) == "II":
            return ...
        words = {word.arg: word.value for word in value.keywords}
        value = words.get("default") or words.get("default_factory")
    try:
        return ... if value is None else literal(value, {})
    except NoLiteralError:
        return ...


def _metadata(call: ast.Call) -> dict[str, object]:
    for word in call.keywords:
        if word.arg == "metadata" and isinstance(word.value, ast.Dict):
            return {
                str(key.value): value.value
                for key, value in zip(word.value.keys, word.value.values, strict=True)
                if isinstance(key, ast.Constant) and isinstance(value, ast.Constant)
            }
    return {}


def _registered(tree: Tree) -> dict[str, list[str]]:
    """Names that decorators register, by the option that takes them."""
    names: dict[str, set[str]] = {}
    for path in _files(tree, *FOLDERS):
        for node in tree.module(path).body:
            for mark in getattr(node, "decorator_list", ()):
                if isinstance(mark, ast.Call) and (option := REGISTERED.get(ast.unparse(mark.func))):
                    given = [each.value for each in mark.args if isinstance(each, ast.Constant)]
                    if given:
                        names.setdefault(option, set()).add(str(given[-1]))
    return {option: sorted(each) for option, each in names.items()}


def _dashed(name: str) -> str:
    return name.replace("_", "-")
