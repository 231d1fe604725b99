"""Marian: the YAML of `marian -c config.yml`, and the `model.npz.yml` that training writes beside its model."""

from trimtab.checks.description import Description
from trimtab.checks.document import Document
from trimtab.checks.keys.table import load_table
from trimtab.checks.kinds.concept_map import Concepts
from trimtab.checks.kinds.kind import Kind, Surroundings
from trimtab.checks.kinds.signs import names_of
from trimtab.checks.kinds.written import Written, settings_of

SIGNS = frozenset(
    {
        "train-sets", "valid-sets", "valid-freq", "disp-freq", "save-freq", "mini-batch-fit", "mini-batch-words",
        "maxi-batch", "optimizer-delay", "optimizer-params", "learn-rate", "lr-decay-inv-sqrt", "lr-warmup",
        "cost-type", "dim-emb", "dim-vocabs", "enc-depth", "dec-depth", "tied-embeddings-all", "transformer-heads",
        "transformer-dim-ffn", "transformer-dropout", "exponential-smoothing", "early-stopping", "valid-metrics",
        "label-smoothing", "after-epochs", "after-batches", "sync-sgd", "clip-norm",
    }
)  # fmt: skip
"""Keys that Marian spells so, and no other tool."""
DATA = "train-sets"
SAVED = 80
"""Files that training has saved have at least so many options; files that people write have fewer."""


def recognises(document: Document) -> bool:
    """The files to train on, or three of its own keys: a part of a run whose files are on the command line."""
    names = names_of(document)
    if names & {"models", "input"}:
        return False
    return DATA in names or len(names & SIGNS) >= 3


def describe(document: Document, surroundings: Surroundings) -> list[Description]:
    """One run; a file without training data leaves those, and whatever else, to the command line."""
    # Most YAML is of another tool, and needs none of these.
    from trimtab.checks.kinds.nmt.marian_concepts import put_marian, with_presets
    from trimtab.checks.kinds.nmt.options import as_saved, typed

    table = load_table("marian", surroundings.versions)
    settings = typed(settings_of(document.entries.values(), table=table, converts=True), table)
    if len(settings) >= SAVED:
        settings = as_saved(settings, table)
    written = Written(
        path=document.path,
        settings=settings,
        table=with_presets(table, settings),
        is_whole=DATA in names_of(document),
    )
    concepts: Concepts = {}
    put_marian(concepts, written)
    return [
        Description(
            tool="marian",
            kind=KIND.name,
            document=document,
            keys={setting.key: setting for setting in settings.values() if setting.is_written},
            concepts=concepts,
            table=table,
            versions=surroundings.versions,
        )
    ]


KIND = Kind(
    name="marian",
    tool="marian",
    title="Marian YAML",
    syntaxes=frozenset({"yaml"}),
    recognises=recognises,
    describe=describe,
)
