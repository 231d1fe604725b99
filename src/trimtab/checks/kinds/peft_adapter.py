"""PEFT's `adapter_config.json`, with the model's and the tokenizer's configuration where they lie beside it."""

from trimtab.checks.description import Description
from trimtab.checks.document import Document
from trimtab.checks.keys.table import load_table
from trimtab.checks.kinds.concept_map import Concepts, put
from trimtab.checks.kinds.huggingface.adapter import adapter_concepts
from trimtab.checks.kinds.huggingface.loading import name_quantized_adapter
from trimtab.checks.kinds.kind import Kind, Surroundings
from trimtab.checks.kinds.model_config import model_concepts
from trimtab.checks.kinds.model_names import put_model_name
from trimtab.checks.kinds.nearby import nearby
from trimtab.checks.kinds.tokenizer_config import tokenizer_concepts
from trimtab.checks.kinds.written import Written, from_beside, settings_of

TABLES = ("lora", "adalora", "oft")
"""Methods whose keys are known; of the others only the type is known."""

NEARBY = ("config.json", "tokenizer_config.json", "generation_config.json", "training_args.json")


def recognises(document: Document) -> bool:
    """`peft_type` at the root."""
    return "peft_type" in document.entries


def describe(document: Document, surroundings: Surroundings) -> list[Description]:
    """One description; an adapter file that is loaded has PEFT's default for what it leaves out."""
    settings = settings_of(document.entries.values())
    named = settings["peft_type"].value if "peft_type" in settings else None
    method = named.lower() if isinstance(named, str) else ""
    table = load_table(f"peft_{method}", surroundings.versions) if method in TABLES else None
    written = Written(path=document.path, settings=settings, table=table)
    own = adapter_concepts(written, method) if method else {}
    put_model_name(own, settings.get("base_model_name_or_path"))
    concepts = {**concepts_beside(surroundings), **own}
    _put_new_tokens(concepts, surroundings)
    name_quantized_adapter(concepts)
    return [
        Description(
            tool="peft",
            kind=KIND.name,
            document=document,
            keys={setting.key: setting for setting in settings.values()},
            concepts=concepts,
            table=table,
            versions=surroundings.versions,
            nearby=nearby(
                surroundings,
                "config.json",
                "tokenizer_config.json",
                "generation_config.json",
                "training_args.json",
            ),
        )
    ]


def _put_new_tokens(concepts: Concepts, surroundings: Surroundings) -> None:
    """Tokens of the tokenizer beside that have no row in the table of the model beside."""
    document, rows = surroundings.beside("tokenizer_config.json"), concepts.get("vocab_size")
    if document is None or rows is None:
        return
    settings = settings_of(document.entries.values())
    added = [setting for key, setting in settings.items() if _token_id(key) >= rows.value]
    names = [setting.value for setting in added if isinstance(setting.value, str)]
    if names:
        put(concepts, "added_tokens", from_beside({"": added[0]})[""], names)


def _token_id(key: str) -> int:
    """Of `added_tokens_decoder.128256.content`; -1 for any other key."""
    start, _, rest = key.partition(".")
    number, _, last = rest.partition(".")
    is_token = (
        start == "added_tokens_decoder" and last == "content" and number.isascii() and number.isdecimal()
    )
    return int(number) if is_token and len(number) < 10 else -1


def concepts_beside(surroundings: Surroundings) -> Concepts:
    """What `config.json` and `tokenizer_config.json` of the same folder say of the model."""
    concepts: Concepts = {}
    for name, concepts_of in (("config.json", model_concepts), ("tokenizer_config.json", tokenizer_concepts)):
        document = surroundings.beside(name)
        if document is not None:
            concepts |= from_beside(concepts_of(settings_of(document.entries.values()), document.path))
    return concepts


KIND = Kind(
    name="peft-adapter",
    tool="peft",
    title="PEFT adapter_config.json",
    syntaxes=frozenset({"json"}),
    recognises=recognises,
    describe=describe,
)
