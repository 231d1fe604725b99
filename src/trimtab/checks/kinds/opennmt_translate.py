"""OpenNMT-py: files of options for `onmt_translate` and its inference engine; nothing is trained by them."""

from trimtab.checks.description import Description
from trimtab.checks.document import Document
from trimtab.checks.keys.table import load_table
from trimtab.checks.kinds.concept_map import Concepts, put
from trimtab.checks.kinds.kind import Kind, Surroundings
from trimtab.checks.kinds.opennmt import BLOCKS, CORPUS
from trimtab.checks.kinds.signs import mappings_in, names_of
from trimtab.checks.kinds.written import Written, settings_of

SAMPLES = frozenset({"random_sampling_topk", "random_sampling_topp", "random_sampling_temp"})
DECODES = frozenset({"beam_size", "max_length", "batch_size", "gpu", "report_time", "length_penalty"})
EVERYWHERE = frozenset({"train_steps", "save_model", "model_name_or_path", "base_model", "model_path"})


def recognises(document: Document) -> bool:
    """Its own names for sampling, or a model and a source beside options of decoding."""
    names = names_of(document)
    if names & EVERYWHERE or any(CORPUS & corpus.keys() for corpus in mappings_in(document, "data")):
        return False
    if names & SAMPLES:
        return not names & (BLOCKS - {"model"})
    return {"model", "src"} <= names and bool(names & DECODES) and not names & (BLOCKS - {"model"})


def describe(document: Document, surroundings: Surroundings) -> list[Description]:
    """How it decodes."""
    table = load_table("opennmt_translate", surroundings.versions)
    settings = settings_of(document.entries.values(), table=table, converts=True)
    written = Written(path=document.path, settings=settings, table=table)
    concepts: Concepts = {}
    put(concepts, "beam", written.get("beam_size"))
    put(concepts, "no_repeat_ngram", written.get("block_ngram_repeat"))
    return [
        Description(
            tool="opennmt",
            kind=KIND.name,
            document=document,
            keys={setting.key: setting for setting in settings.values()},
            concepts=concepts,
            table=table,
            versions=surroundings.versions,
        )
    ]


KIND = Kind(
    name="opennmt-translate",
    tool="opennmt",
    title="OpenNMT-py translation YAML",
    syntaxes=frozenset({"yaml"}),
    recognises=recognises,
    describe=describe,
)
