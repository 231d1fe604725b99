"""TrainingArguments and its subclasses, told whole."""

from collections.abc import Mapping

from trimtab.checks.description import Version
from trimtab.checks.kinds.concept_map import Concepts
from trimtab.checks.kinds.huggingface.batch import put_batch, put_data, put_loss
from trimtab.checks.kinds.huggingface.evaluation import put_evaluation, put_saving
from trimtab.checks.kinds.huggingface.memory import (
    put_compile,
    put_precision,
    put_recomputation,
    put_sharding,
)
from trimtab.checks.kinds.huggingface.optimizer import put_optimizer, put_schedule
from trimtab.checks.kinds.written import Written


def training_concepts(written: Written, versions: Mapping[str, Version]) -> Concepts:
    """What the arguments of a Trainer say; `written` has them by their plain names."""
    concepts: Concepts = {}
    version = versions.get("transformers")
    put_optimizer(concepts, written)
    put_schedule(concepts, written, version)
    put_batch(concepts, written)
    put_loss(concepts, written)
    put_data(concepts, written)
    put_evaluation(concepts, written)
    put_saving(concepts, written)
    put_precision(concepts, written)
    put_recomputation(concepts, written, version)
    put_compile(concepts, written)
    put_sharding(concepts, written, version)
    return concepts
