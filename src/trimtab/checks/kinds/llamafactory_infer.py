"""LLaMA-Factory: files for chat, serving, merging and evaluating on benchmarks; nothing is trained by them."""

from trimtab.checks.description import Description
from trimtab.checks.document import Document
from trimtab.checks.keys.table import load_table
from trimtab.checks.kinds.concept_map import Concepts
from trimtab.checks.kinds.kind import Kind, Surroundings
from trimtab.checks.kinds.llamafactory import SIGNS, TRAINS
from trimtab.checks.kinds.llamafactory_parts.versions import accepted
from trimtab.checks.kinds.model_names import put_model_name
from trimtab.checks.kinds.signs import names_of
from trimtab.checks.kinds.written import Written, settings_of

SERVES = frozenset({"infer_backend", "export_dir", "template", "vllm_maxlen", "n_shot"})


def recognises(document: Document) -> bool:
    """A model with a template, a backend or a folder to export to, and nothing of training."""
    names = names_of(document)
    return "model_name_or_path" in names and bool(names & (SERVES | SIGNS)) and not names & TRAINS


def describe(document: Document, surroundings: Surroundings) -> list[Description]:
    """The model, and the keys that these commands know."""
    name = "llamafactory_eval" if "n_shot" in names_of(document) else "llamafactory_infer"
    surroundings = accepted(surroundings)
    table = load_table(name, surroundings.versions)
    settings = settings_of(document.entries.values(), table=table)
    concepts: Concepts = {}
    put_model_name(concepts, Written(path=document.path, settings=settings).get("model_name_or_path"))
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


KIND = Kind(
    name="llamafactory-infer",
    tool="llamafactory",
    title="LLaMA-Factory YAML for chat, export or evaluation",
    syntaxes=frozenset({"yaml", "json"}),
    recognises=recognises,
    describe=describe,
    dialect="omegaconf",
)
