"""TrainingArguments and its subclasses, told whole."""

from collections.abc import Mapping

from trimtab.checks.description import Version
from trimtab.checks.kinds.concept_map import Told
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


def training_concepts(written: Written, versions: Mapping[str, Version]) -> Told:
    """What the arguments of a Trainer say; `written` has them by their plain names."""
    told: Told = {}
    version = versions.get("transformers")
    put_optimizer(told, written)
    put_schedule(told, written, version)
    put_batch(told, written)
    put_loss(told, written)
    put_data(told, written)
    put_evaluation(told, written)
    put_saving(told, written)
    put_precision(told, written)
    put_recomputation(told, written, version)
    put_compile(told, written)
    put_sharding(told, written, version)
    return told
