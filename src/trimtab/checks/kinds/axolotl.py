"""Axolotl: one YAML file for a fine-tuning run."""

from trimtab.checks.description import Description
from trimtab.checks.document import Document
from trimtab.checks.keys.table import load_table
from trimtab.checks.kinds.axolotl_parts.adapter import put_adapter
from trimtab.checks.kinds.axolotl_parts.data import put_data, put_task
from trimtab.checks.kinds.axolotl_parts.machine import put_machine, put_precision
from trimtab.checks.kinds.axolotl_parts.training import put_training
from trimtab.checks.kinds.concept_map import Concepts, put
from trimtab.checks.kinds.deepspeed import deepspeed_beside
from trimtab.checks.kinds.kind import Kind, Surroundings
from trimtab.checks.kinds.model_names import put_model_name
from trimtab.checks.kinds.signs import names_of
from trimtab.checks.kinds.written import Written, settings_of

SIGNS = frozenset(
    {
        "adapter", "datasets", "eval_batch_size", "gradient_accumulation_steps", "load_in_4bit", "load_in_8bit",
        "lora_r", "lr_scheduler", "micro_batch_size", "num_epochs", "pretraining_dataset", "sample_packing",
        "sequence_len", "val_set_size",
    }
)  # fmt: skip
OF_MERGES = frozenset({"merge_method", "slices", "models"})
"""mergekit has a `base_model`, too."""


def recognises(document: Document) -> bool:
    """`base_model` beside keys of its training."""
    names = names_of(document)
    return "base_model" in names and len(names & SIGNS) >= 1 and not names & OF_MERGES


def describe(document: Document, surroundings: Surroundings) -> list[Description]:
    """One run. Axolotl itself starts from this file; a launcher can only add FSDP or DeepSpeed."""
    table = load_table("axolotl", surroundings.versions)
    settings = settings_of(document.entries.values(), table=table, converts=True)
    written = Written(path=document.path, settings=settings, table=table)
    concepts: Concepts = {}
    put_model_name(concepts, written.get("base_model"))
    fresh = written.settings.get("reinit_weights") or written.default("reinit_weights", False)
    put(concepts, "from_scratch", fresh, fresh.value is True)
    put_task(concepts, written)
    put_training(concepts, written)
    put_precision(concepts, written)
    put_machine(concepts, written)
    put_adapter(concepts, written)
    put_data(concepts, written, surroundings.versions)
    concepts = {**deepspeed_beside(written.settings.get("deepspeed"), surroundings), **concepts}
    return [
        Description(
            tool="axolotl",
            kind=KIND.name,
            document=document,
            keys={setting.key: setting for setting in settings.values()},
            concepts=concepts,
            table=table,
            versions=surroundings.versions,
        )
    ]


KIND = Kind(
    name="axolotl",
    tool="axolotl",
    title="Axolotl YAML",
    syntaxes=frozenset({"yaml"}),
    recognises=recognises,
    describe=describe,
)
