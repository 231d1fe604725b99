"""fairseq: the YAML of `fairseq-hydra-train`."""

from dataclasses import replace

from trimtab.checks.description import Description
from trimtab.checks.document import UNKNOWN, Document
from trimtab.checks.keys.table import load_table
from trimtab.checks.kinds.concept_map import Concepts
from trimtab.checks.kinds.kind import Kind, Surroundings
from trimtab.checks.kinds.signs import mapping, names_of
from trimtab.checks.kinds.written import Written, hidden_in, settings_of

GROUPS = frozenset(
    {"common", "dataset", "optimization", "checkpoint", "distributed_training", "lr_scheduler", "criterion"}
)


def recognises(document: Document) -> bool:
    """Three of its groups, or two and a part that is chosen by `_name`."""
    tree = mapping(document.tree)
    groups = sum(isinstance(tree.get(name), dict) for name in GROUPS & names_of(document))
    chosen = any(
        "_name" in mapping(tree.get(name))
        for name in ("model", "task", "criterion", "optimizer", "lr_scheduler")
    )
    return groups >= 3 or (groups >= 2 and chosen)


def describe(document: Document, surroundings: Surroundings) -> list[Description]:
    """One run; what it leaves out may be on the command line, but for a file with model, data and optimizer."""
    # Most YAML is of another tool, and needs none of these.
    from trimtab.checks.kinds.nmt.fairseq_concepts import (
        as_extended,
        flat_name,
        flat_names,
        for_run,
        is_of_a_fork,
        put_fairseq,
    )
    from trimtab.checks.kinds.nmt.options import typed

    table = load_table("fairseq_hydra", surroundings.versions)
    entries = [
        replace(each, value=UNKNOWN) if _is_open(each.value) else each for each in document.entries.values()
    ]
    settings = typed(settings_of(entries, table=table, converts=True), table)
    flat = flat_names(settings)
    names = names_of(document)
    plain = load_table("fairseq", surroundings.versions)
    hidden = frozenset(flat_name(key) for key in hidden_in(entries))
    is_extended = "user-dir" in flat or "user-dir" in hidden or is_of_a_fork(plain, flat)
    written = Written(
        path=document.path,
        settings=flat,
        hidden=hidden,
        table=for_run(plain, flat, default="transformer"),
        is_whole={"optimization", "optimizer", "dataset"} <= names and "defaults" not in names,
    )
    concepts: Concepts = {}
    put_fairseq(concepts, written)
    return [
        Description(
            tool="fairseq",
            kind=KIND.name,
            document=document,
            keys={setting.key: setting for setting in settings.values()},
            concepts=concepts,
            table=as_extended(table, settings) if is_extended else table,
            versions=surroundings.versions,
        )
    ]


def _is_open(value: object) -> bool:
    """What is filled in elsewhere: OmegaConf's mark for a value that must be given, and what another key says."""
    return isinstance(value, str) and (value == "???" or "${" in value)


KIND = Kind(
    name="fairseq",
    tool="fairseq",
    title="fairseq Hydra YAML",
    syntaxes=frozenset({"yaml"}),
    recognises=recognises,
    describe=describe,
    dialect="omegaconf",
)
