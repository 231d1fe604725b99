"""LLaMA-Factory: files of its new version 1, which has other names and its own training loop."""

from trimtab.checks.description import Description
from trimtab.checks.document import Document
from trimtab.checks.keys.table import load_table
from trimtab.checks.kinds.concept_map import Concepts, put, put_each
from trimtab.checks.kinds.kind import Kind, Surroundings
from trimtab.checks.kinds.model_names import put_model_name
from trimtab.checks.kinds.signs import mapping, names_of
from trimtab.checks.kinds.written import Written, settings_of

SIGNS = frozenset(
    {
        "model_class",
        "train_dataset",
        "dist_config",
        "peft_config",
        "kernel_config",
        "quant_config",
        "batching_strategy",
    }
)


def recognises(document: Document) -> bool:
    """A model by its name, beside one of the groups of version 1."""
    return isinstance(mapping(document.tree).get("model"), str) and bool(names_of(document) & SIGNS)


def describe(document: Document, surroundings: Surroundings) -> list[Description]:
    """One run where there are data to train on, else the model alone."""
    table = load_table("llamafactory_v1", surroundings.versions)
    settings = settings_of(document.entries.values(), table=table)
    written = Written(path=document.path, settings=settings, table=table)
    concepts: Concepts = {}
    put_model_name(concepts, written.settings.get("model"))
    if "train_dataset" in settings:
        _tell_training(concepts, written)
    return [
        Description(
            tool="llamafactory",
            kind=KIND.name,
            document=document,
            keys={setting.key: setting for setting in settings.values()},
            concepts=concepts,
            table=table,
            versions=surroundings.versions,
        )
    ]


def _tell_training(concepts: Concepts, written: Written) -> None:
    put_each(
        concepts,
        written,
        {
            "learning_rate": "learning_rate",
            "clip": "max_grad_norm",
            "micro_batch": "micro_batch_size",
            "global_batch": "global_batch_size",
            "sequence_length": "cutoff_len",
            "gradient_checkpointing": "enable_activation_checkpointing",
            "output_dir": "output_dir",
            "seed": "seed",
            "lora_rank": "peft_config.r",
            "lora_alpha": "peft_config.lora_alpha",
        },
    )
    put(concepts, "batch_unit", written.get("micro_batch_size"), "examples")
    steps = written.get("max_steps")
    put(concepts, "steps", steps)
    if "steps" not in concepts:
        put(concepts, "epochs", written.get("num_train_epochs"))
    corpora = written.settings["train_dataset"]
    put(concepts, "corpora", corpora, [corpora.value] if isinstance(corpora.value, str) else None)
    method = written.settings.get("peft_config.name")
    put(concepts, "adapter", method or written.default("peft_config", "none"))


KIND = Kind(
    name="llamafactory-v1",
    tool="llamafactory",
    title="LLaMA-Factory version 1 YAML",
    syntaxes=frozenset({"yaml", "json"}),
    recognises=recognises,
    describe=describe,
    dialect="omegaconf",
)
