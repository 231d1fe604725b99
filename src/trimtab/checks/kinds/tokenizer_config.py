"""`tokenizer_config.json`: special tokens and the chat template."""

from collections.abc import Mapping

from trimtab.checks.description import Description
from trimtab.checks.document import Document
from trimtab.checks.kinds.concept_map import Concepts, put
from trimtab.checks.kinds.kind import Kind, Surroundings
from trimtab.checks.kinds.nearby import nearby
from trimtab.checks.kinds.written import settings_of
from trimtab.checks.setting import Setting

SIGNS = ("tokenizer_class", "added_tokens_decoder", "model_max_length", "clean_up_tokenization_spaces")


def recognises(document: Document) -> bool:
    """Two of the names that every saved tokenizer has, and no model."""
    keys = document.entries
    return "model_type" not in keys and "output_dir" not in keys and sum(key in keys for key in SIGNS) >= 2


def describe(document: Document, surroundings: Surroundings) -> list[Description]:
    """One description of the tokens."""
    settings = settings_of(document.entries.values())
    return [
        Description(
            tool="transformers",
            kind=KIND.name,
            document=document,
            keys={setting.key: setting for setting in settings.values()},
            concepts=tokenizer_concepts(settings, document.path),
            versions=surroundings.versions,
            nearby=nearby(surroundings, "config.json", "generation_config.json", "adapter_config.json"),
        )
    ]


def tokenizer_concepts(settings: Mapping[str, Setting], path: str) -> Concepts:
    """Special tokens as text; a token may be a text or a block with `content`."""
    concepts: Concepts = {}
    for token in ("pad_token", "eos_token"):
        put(concepts, token, settings.get(f"{token}.content") or settings.get(token))
    put(concepts, "chat_template", settings.get("chat_template"))
    separate = settings.get("separate_vocabs")
    if separate is not None and isinstance(separate.value, bool):
        put(concepts, "shared_vocabulary", separate, not separate.value)
    return concepts


KIND = Kind(
    name="tokenizer-config",
    tool="transformers",
    title="tokenizer_config.json",
    syntaxes=frozenset({"json"}),
    recognises=recognises,
    describe=describe,
)
