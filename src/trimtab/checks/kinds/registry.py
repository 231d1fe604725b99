"""All kinds of configuration, by the modules of this folder that hold them; imported when they are asked for."""

from functools import cache
from importlib import import_module

from trimtab.checks.document import Syntax
from trimtab.checks.kinds.kind import Kind

MODULES: dict[str, tuple[Syntax, ...]] = {
    "accelerate": (
        "yaml",
        "json",
    ),
    "axolotl": ("yaml",),
    "axolotl_cloud": ("yaml",),
    "deepspeed": (
        "yaml",
        "json",
    ),
    "eole": ("yaml",),
    "eole_predict": ("yaml",),
    "fairseq": ("yaml",),
    "generation_config": ("json",),
    "hf_training": (
        "yaml",
        "json",
    ),
    "image_processor": ("json",),
    "llamafactory": (
        "yaml",
        "json",
    ),
    "llamafactory_infer": (
        "yaml",
        "json",
    ),
    "llamafactory_v1": (
        "yaml",
        "json",
    ),
    "mammoth": ("yaml",),
    "marian": ("yaml",),
    "marian_decoder": ("yaml",),
    "model_config": ("json",),
    "opennmt": ("yaml",),
    "opennmt_translate": ("yaml",),
    "peft_adapter": ("json",),
    "python_script": ("python",),
    "recipe": ("yaml",),
    "shell_launch": ("shell",),
    "sockeye": ("yaml",),
    "tokenizer_config": ("json",),
    "trl_training": (
        "yaml",
        "json",
    ),
}
"""Modules beside this one, each with the syntaxes of its `KIND`: only those that a file may need are imported."""


@cache
def all_kinds() -> tuple[Kind, ...]:
    """Every kind, in the order of the table."""
    return tuple(map(_kind, MODULES))


@cache
def kinds_of(syntax: Syntax) -> tuple[Kind, ...]:
    """The kinds that a file of this syntax may be."""
    return tuple(_kind(name) for name, syntaxes in MODULES.items() if syntax in syntaxes)


def _kind(name: str) -> Kind:
    return import_module(f"trimtab.checks.kinds.{name}").KIND
