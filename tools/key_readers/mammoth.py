"""Mammoth: the options of training."""

from dataclasses import replace
from typing import Any

from key_readers.argparse_options import Program, constants_of, registered_in
from key_readers.tree import Row, Tree

TASK: dict[str, Row] = {
    "src_tgt": {"types": ["text"]},
    "path_src": {"types": ["text"]},
    "path_tgt": {"types": ["text"]},
    "path_valid_src": {"types": ["text"]},
    "path_valid_tgt": {"types": ["text"]},
    "transforms": {"types": ["list"]},
    "weight": {"types": ["number"], "default": 1},
    "introduce_at_training_step": {"types": ["integer"], "default": 0},
    "enc_sharing_group": {"types": ["list"]},
    "dec_sharing_group": {"types": ["list"]},
    "node_gpu": {"types": ["text"]},
    "src_prefix": {"types": ["text"]},
    "tgt_prefix": {"types": ["text"]},
    "src_feats": {"types": ["mapping"], "open": True},
    "enable_embeddingless": {"types": ["boolean"], "default": False},
    "stride": {"types": ["integer"]},
    "offset": {"types": ["integer"]},
    "adapters": {"types": ["mapping"], "open": True},
}
"""What the parser, the task queue and the data sets read from a task (mammoth/utils/parse.py, distributed/tasks.py,
inputters/dataset.py); nothing refuses other keys."""


def read(trees: list[Tree]) -> dict[str, Any]:
    """`mammoth`: the options of training."""
    tree = trees[-1]
    transforms = sorted((tree.folder / "mammoth/transforms").glob("*.py"))
    parts = tuple(tree.module(str(path.relative_to(tree.folder))) for path in transforms)
    program = Program(
        tree.module("mammoth/opts.py"),
        parts=parts,
        enums=constants_of(tree.module("mammoth/constants.py", "mammoth/modules/position_ffn.py")),
        choices={"AVAILABLE_TRANSFORMS": registered_in(parts, "register_transform")},
    )
    head = {"tool": "mammoth", "library": "mammoth-nlp", "version": tree.version, "abbreviations": True}
    tasks = {"tasks.*": {"types": ["mapping"]}, **{f"tasks.*.{name}": row for name, row in TASK.items()}}
    return {
        "mammoth": {
            **head,
            "source": f"mammoth {tree.version}: mammoth/opts.py, train_opts",
            "unknown_keys": "refused",
            "keys": {**replace(program, settings={"is_train": True}).rows("train_opts"), **tasks},
        },
    }
