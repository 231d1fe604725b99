"""transformers: TrainingArguments and Seq2SeqTrainingArguments."""

from typing import Any

from key_readers.annotations import enums_of
from key_readers.dataclass_fields import fields_of
from key_readers.history import with_history
from key_readers.tree import Rows, Tree

FILES = ("transformers/training_args.py", "transformers/training_args_seq2seq.py")
ENUMS = ("transformers/trainer_utils.py", "transformers/debug_utils.py")

CLOSED = {
    "optim": ("OptimizerNames",),
    "lr_scheduler_type": ("SchedulerType",),
    "eval_strategy": ("IntervalStrategy",),
    "evaluation_strategy": ("IntervalStrategy",),
    "logging_strategy": ("IntervalStrategy",),
    "save_strategy": ("SaveStrategy", "IntervalStrategy"),
    "hub_strategy": ("HubStrategy",),
}
"""Fields that `__post_init__` turns into a member of an enumeration, or fails; older releases lack some of these."""


def read(trees: list[Tree]) -> dict[str, Any]:
    """`transformers` holds what every Trainer takes, `transformers_seq2seq` what the other one adds."""
    version = trees[-1].version
    head: dict[str, Any] = {"tool": "transformers", "library": "transformers", "version": version}
    return {
        "transformers": {
            **head,
            "source": f"transformers {version}: {FILES[0]}",
            "unknown_keys": "refused",
            "keys": with_history([(tree, _rows(tree, "TrainingArguments")) for tree in trees]),
        },
        "transformers_seq2seq": {
            **head,
            "source": f"transformers {version}: {FILES[1]}",
            "unknown_keys": "refused",
            "includes": ["transformers"],
            "keys": with_history([(tree, _rows(tree, "Seq2SeqTrainingArguments")) for tree in trees]),
        },
    }


def _rows(tree: Tree, name: str) -> Rows:
    module = tree.module(*ENUMS, *FILES)
    rows, enums = fields_of(module, name), enums_of(module)
    for field, classes in CLOSED.items():
        if field in rows:
            rows[field]["choices"] = next(list(enums[one].values()) for one in classes if one in enums)
    return rows
