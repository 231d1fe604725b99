"""`generation_config.json`."""

from trimtab.checks.description import Description
from trimtab.checks.document import Document
from trimtab.checks.kinds.concept_map import Concepts
from trimtab.checks.kinds.huggingface.generation import put_generation
from trimtab.checks.kinds.kind import Kind, Surroundings
from trimtab.checks.kinds.nearby import nearby
from trimtab.checks.kinds.written import settings_of

SIGNS = frozenset(
    {
        "_from_model_config", "do_sample", "early_stopping", "forced_eos_token_id", "length_penalty",
        "max_new_tokens", "no_repeat_ngram_size", "num_beams", "repetition_penalty", "temperature", "top_k", "top_p",
    }
)  # fmt: skip
OF_OTHERS = (
    "model_type",
    "architectures",
    "peft_type",
    "output_dir",
    "model_name_or_path",
    "hidden_size",
    "model",
)


def recognises(document: Document) -> bool:
    """Two of its names or one with a special id, and nothing of a model or a run."""
    keys = document.entries
    if any(key in keys for key in OF_OTHERS):
        return False
    found = sum(key in keys for key in SIGNS)
    return found >= 2 or (found == 1 and ("eos_token_id" in keys or "transformers_version" in keys))


def describe(document: Document, surroundings: Surroundings) -> list[Description]:
    """One description of how a model decodes when nobody says otherwise."""
    settings, concepts = settings_of(document.entries.values()), Concepts()
    put_generation(concepts, settings)
    return [
        Description(
            tool="transformers",
            kind=KIND.name,
            document=document,
            keys={setting.key: setting for setting in settings.values()},
            concepts=concepts,
            versions=surroundings.versions,
            nearby=nearby(surroundings, "config.json", "tokenizer_config.json"),
        )
    ]


KIND = Kind(
    name="generation-config",
    tool="transformers",
    title="generation_config.json",
    syntaxes=frozenset({"json"}),
    recognises=recognises,
    describe=describe,
)
