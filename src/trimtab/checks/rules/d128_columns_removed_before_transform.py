"""D128 columns-removed-before-transform"""

import ast
from collections.abc import Iterator
from typing import Final

from trimtab.checks.code_text import says
from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.trainers import configuration, is_set, trainers
from trimtab.checks.read.flow.values import Value, walk
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "from datasets import load_dataset\n"
    "from transformers import AutoModelForImageClassification, Trainer, TrainingArguments\n"
    "def transform(rows):\n    return {'pixel_values': process(rows['image']), 'labels': rows['labels']}\n"
    "dataset = load_dataset('beans').with_transform(transform)\n"
    "model = AutoModelForImageClassification.from_pretrained('google/vit-base-patch16-224')\n"
    "arguments = TrainingArguments('out'{keep})\nTrainer(model, arguments, train_dataset=dataset['train']).train()\n"
)

RULE = Rule(
    code="D128",
    name="columns-removed-before-transform",
    severity="warning",
    message="the Trainer removes columns that the model does not take, before the transform of the dataset reads them",
    why="With `remove_unused_columns`, which is on by default, the Trainer drops each column that is no argument "
    "of the "
    "model's `forward`. A transform that runs when an example is read no longer finds `image` or `text`, and the first "
    "batch raises KeyError.",
    evidence=(
        Maintainer(
            "https://huggingface.co/docs/transformers/tasks/image_classification",
            "'It is important you don't remove unused columns because that'll drop the image column. Without the image "
            "column, you can't create pixel_values. Set remove_unused_columns=False to prevent this behavior!'",
        ),
        Maintainer(
            "https://github.com/huggingface/transformers/blob/main/src/transformers/trainer.py",
            "`_remove_unused_columns` calls `dataset.remove_columns(ignored_columns)` by the signature of `forward`.",
        ),
    ),
    fix=Fix("pass `remove_unused_columns=False`"),
    bad=Example("train.py", _SCRIPT.replace("{keep}", "")),
    good=Example("train.py", _SCRIPT.replace("{keep}", ", remove_unused_columns=False")),
    symptoms=(
        "KeyError: 'image'",
        "No columns in the dataset match the model's forward method signature",
        "KeyError with a column that the dataset has",
    ),
)


_TAKEN: Final = frozenset(
    {"pixel_values", "label", "labels", "label_ids", "input_ids", "attention_mask", "input_values"}
)
"""Columns that models take, and the Trainer keeps."""


def check(run: Description) -> Iterator[Diagnosis]:
    """A dataset with a transform of the script that reads other columns than a model takes, and a Trainer whose
    arguments can all be seen."""
    if not says(run.document, "with_transform(", "set_transform("):
        return
    flow = flow_of(run.document)
    subjects = {id(event.subject) for event in flow.named("set_transform") if _reads_more(event.value)}
    for trainer in trainers(run):
        arguments = configuration(trainer.value)
        if arguments is None or is_set(arguments, "remove_unused_columns"):
            continue
        for name in ("train_dataset", "eval_dataset"):
            given = trainer.value.keywords.get(name)
            if given is not None and _is_transformed(given, subjects):
                yield RULE.at(trainer.place)
                break


def _is_transformed(value: Value, subjects: set[int]) -> bool:
    for each in walk(value, most=20):
        is_given = each.made == "call" and each.name == "with_transform" and each.of is not None
        if (is_given and _reads_more(each)) or id(each) in subjects:
            return True
    return False


def _reads_more(call: Value) -> bool:
    """Whether the function that is handed over is written here and reads a column that no model takes."""
    function = call.argument(0, "transform")
    if function is None or function.node is None:
        return False
    for node in ast.walk(function.node):
        is_read = isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load)
        key = node.slice.value if is_read and isinstance(node.slice, ast.Constant) else None  # type: ignore[union-attr]
        if isinstance(key, str) and key not in _TAKEN:
            return True
    return False
