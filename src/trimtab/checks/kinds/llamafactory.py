"""LLaMA-Factory: the YAML or JSON of `llamafactory-cli train`, its own arguments over those of transformers."""

from dataclasses import replace

from trimtab.checks.description import Description
from trimtab.checks.document import Document
from trimtab.checks.keys.table import load_table
from trimtab.checks.keytable import KeyTable
from trimtab.checks.kinds.concept_map import Concepts, put
from trimtab.checks.kinds.deepspeed import deepspeed_beside, deepspeed_run
from trimtab.checks.kinds.huggingface.arguments import training_concepts
from trimtab.checks.kinds.kind import Kind, Surroundings
from trimtab.checks.kinds.llamafactory_parts.adapter import put_adapter
from trimtab.checks.kinds.llamafactory_parts.data import put_data, put_task, put_tokens
from trimtab.checks.kinds.llamafactory_parts.machine import put_machine, put_optimizer_switches
from trimtab.checks.kinds.llamafactory_parts.versions import accepted
from trimtab.checks.kinds.model_names import put_model_name
from trimtab.checks.kinds.signs import names_of
from trimtab.checks.kinds.written import Written, settings_of

SIGNS = frozenset({"stage", "finetuning_type", "template", "cutoff_len"})
TRAINS = frozenset(
    {
        "do_train",
        "do_eval",
        "do_predict",
        "dataset",
        "output_dir",
        "per_device_train_batch_size",
        "learning_rate",
    }
)
OF_MEGATRON = frozenset(
    {
        "tensor_model_parallel_size", "pipeline_model_parallel_size", "expert_model_parallel_size", "use_mca",
        "virtual_pipeline_model_parallel_size", "recompute_granularity", "use_megatron_bridge",
    }
)  # fmt: skip
"""With these an adapter for Megatron may read the file, which has more keys than are listed."""


def recognises(document: Document) -> bool:
    """A model, one of its own words, and something that only training or evaluation by a Trainer needs."""
    names = names_of(document)
    return "model_name_or_path" in names and bool(names & SIGNS) and bool(names & TRAINS)


def describe(document: Document, surroundings: Surroundings) -> list[Description]:
    """One run; without `do_train` it trains nothing and has no training settings."""
    surroundings = accepted(surroundings)
    table = _table(document, load_table("llamafactory", surroundings.versions))
    # No conversion: OmegaConf has read the numbers, and the parser passes them on as they are.
    settings = settings_of(document.entries.values(), table=table)
    written = Written(path=document.path, settings=settings, table=table)
    concepts: Concepts = {}
    put_model_name(concepts, written.get("model_name_or_path"))
    if written.value("do_train") is True:
        concepts |= training_concepts(written, surroundings.versions)
        _tell_own(concepts, written)
        concepts = {**deepspeed_beside(written.settings.get("deepspeed"), surroundings), **concepts}
    return [
        Description(
            tool="llamafactory",
            kind=KIND.name,
            document=document,
            keys={setting.key: setting for setting in settings.values()},
            concepts=concepts,
            table=table,
            versions=surroundings.versions,
            nearby=deepspeed_run(settings.get("deepspeed"), surroundings),
        )
    ]


def _tell_own(concepts: Concepts, written: Written) -> None:
    put_task(concepts, written)
    put_machine(concepts, written)
    put_optimizer_switches(concepts, written)
    put_adapter(concepts, written)
    put_data(concepts, written)
    put_tokens(concepts, written)
    fresh = written.get("train_from_scratch")
    put(concepts, "from_scratch", fresh)


def _table(document: Document, table: KeyTable) -> KeyTable:
    is_megatron = bool(names_of(document) & OF_MEGATRON)
    return replace(table, unknown_keys="kept") if is_megatron else table


KIND = Kind(
    name="llamafactory",
    tool="llamafactory",
    title="LLaMA-Factory training YAML",
    syntaxes=frozenset({"yaml", "json"}),
    recognises=recognises,
    describe=describe,
    dialect="omegaconf",
)
