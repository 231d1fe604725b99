"""Descriptions of the other files of a model's folder, for rules that need two of them."""

from importlib import import_module

from trimtab.checks.description import Description
from trimtab.checks.kinds.kind import Kind, Surroundings

FILES = {
    "config.json": "model_config",
    "generation_config.json": "generation_config",
    "tokenizer_config.json": "tokenizer_config",
    "preprocessor_config.json": "image_processor",
    "adapter_config.json": "peft_adapter",
    "training_args.json": "hf_training",
}
"""What the libraries call their files, and the module of each kind."""


def nearby(surroundings: Surroundings, *names: str) -> tuple[Description, ...]:
    """What files of these names beside this one say; those that are not there, or are of another kind, are left out."""
    found: list[Description] = []
    for name in names:
        document = surroundings.beside(name)
        if document is None:
            continue
        kind: Kind = import_module(f"trimtab.checks.kinds.{FILES[name]}").KIND
        if document.syntax in kind.syntaxes and kind.recognises(document):
            # Without `beside`: they would ask for this file again.
            found += kind.describe(document, Surroundings(versions=surroundings.versions))
    return tuple(found)
