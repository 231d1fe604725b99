"""Eole: files for `eole predict` and for its server; nothing is trained by them."""

from trimtab.checks.description import Description
from trimtab.checks.document import Document
from trimtab.checks.keys.table import load_table
from trimtab.checks.kinds.concept_map import Concepts, put
from trimtab.checks.kinds.kind import Kind, Surroundings
from trimtab.checks.kinds.signs import names_of
from trimtab.checks.kinds.written import Written, settings_of

NEEDS = frozenset(
    {"gpu_ranks", "world_size", "batch_type", "src", "output", "beam_size", "transforms", "report_time"}
)
OF_AUDIO = frozenset({"language", "timestamps", "data_type"})
OTHERS = frozenset(
    {"data", "training", "tasks", "save_model", "base_model", "model_name_or_path", "train_steps"}
)


def recognises(document: Document) -> bool:
    """A model's folder beside options of prediction, or these options for sound; a server lists models."""
    names = names_of(document)
    if {"models_root", "models"} <= names:
        return True
    if names & OTHERS:
        return False
    if "model_path" in names:
        return bool(names & NEEDS)
    return bool(names & OF_AUDIO) and {"beam_size", "batch_type"} <= names


def describe(document: Document, surroundings: Surroundings) -> list[Description]:
    """How it decodes; of a server's file only the keys are read, which nothing checks."""
    is_server = "models_root" in names_of(document)
    table = None if is_server else load_table("eole_predict", surroundings.versions)
    settings = settings_of(document.entries.values(), table=table, converts=True)
    concepts: Concepts = {}
    if not is_server:
        written = Written(path=document.path, settings=settings, table=table)
        put(concepts, "beam", written.get("beam_size"))
        put(concepts, "no_repeat_ngram", written.get("block_ngram_repeat"))
    return [
        Description(
            tool="eole",
            kind=KIND.name,
            document=document,
            keys={setting.key: setting for setting in settings.values()},
            concepts=concepts,
            table=table,
            versions=surroundings.versions,
        )
    ]


KIND = Kind(
    name="eole-predict",
    tool="eole",
    title="Eole prediction or server YAML",
    syntaxes=frozenset({"yaml"}),
    recognises=recognises,
    describe=describe,
)
