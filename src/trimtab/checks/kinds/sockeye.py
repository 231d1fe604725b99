"""Sockeye 3: `args.yaml` of a model's folder, which `sockeye-train --config` takes as well."""

from trimtab.checks.description import Description
from trimtab.checks.document import Document
from trimtab.checks.keys.table import load_table
from trimtab.checks.kinds.concept_map import Concepts
from trimtab.checks.kinds.kind import Kind, Surroundings
from trimtab.checks.kinds.signs import names_of
from trimtab.checks.kinds.written import Written, settings_of

SIGNS = frozenset(
    {
        "prepared_data", "validation_source", "validation_target", "weight_tying_type", "checkpoint_interval",
        "max_num_checkpoint_not_improved", "max_num_epochs", "transformer_model_size", "transformer_attention_heads",
        "initial_learning_rate", "learning_rate_scheduler_type", "learning_rate_warmup", "update_interval",
        "gradient_clipping_type", "gradient_clipping_threshold", "decode_and_evaluate", "optimized_metric",
        "keep_last_params", "num_layers", "max_seq_len", "num_words", "optimizer_betas", "max_updates", "batch_type",
    }
)  # fmt: skip
"""Keys of Sockeye; few other tools have more than one of them."""
WHOLE = frozenset({"validation_source", "output"})
"""What every run needs: a file without it is completed on the command line."""


def recognises(document: Document) -> bool:
    """Four of its keys."""
    return len(names_of(document) & SIGNS) >= 4


def describe(document: Document, surroundings: Surroundings) -> list[Description]:
    """One run."""
    # Most YAML is of another tool, and needs none of these.
    from trimtab.checks.kinds.nmt.options import as_saved, typed
    from trimtab.checks.kinds.nmt.sockeye_concepts import put_sockeye, underscored

    dashed = load_table("sockeye", surroundings.versions)
    table = underscored(dashed)
    settings = typed(settings_of(document.entries.values(), table=table, converts=True), table)
    # Training saves all options, most of which nobody wrote.
    settings = as_saved(settings, table)
    written = Written(
        path=document.path,
        settings={name.replace("_", "-"): setting for name, setting in settings.items()},
        table=dashed,
        is_whole=names_of(document) >= WHOLE,
    )
    concepts: Concepts = {}
    put_sockeye(concepts, written)
    return [
        Description(
            tool="sockeye",
            kind=KIND.name,
            document=document,
            keys={setting.key: setting for setting in settings.values() if setting.is_written},
            concepts=concepts,
            table=table,
            versions=surroundings.versions,
        )
    ]


KIND = Kind(
    name="sockeye",
    tool="sockeye",
    title="Sockeye args.yaml",
    syntaxes=frozenset({"yaml"}),
    recognises=recognises,
    describe=describe,
)
