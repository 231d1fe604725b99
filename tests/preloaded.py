"""What children of tests need, imported once by the server that they are forked from (`tests/children.py`).

It imports and computes nothing, so that it has no threads. Calls within trimtab are checked in the process that runs
the tests and not here: each child would compile the checks anew, two thirds of the time of one that trains. Children
that become another user may be unable to read the packages, so what their commands import late is here too.
"""

import importlib
import pkgutil
from contextlib import suppress
from pathlib import Path

import beartype
import huggingface_hub.file_download  # noqa: F401
import hypothesis  # noqa: F401
import pytest  # noqa: F401
import torch  # noqa: F401

# A child that becomes another user may not be able to read the packages: what typer imports when it is called, and what
# a command imports before it refuses, is imported here.
import typer
from transformers import (  # noqa: F401
    AutoModelForCausalLM,
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    GenerationConfig,
    MarianConfig,
    MarianMTModel,
    PegasusConfig,
)
from typer.testing import CliRunner

import trimtab
from trimtab.checks.check_recipe import check_recipe
from trimtab.cli.app import app
from trimtab.config.load import load_recipe

for package in (typer, trimtab):
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if found.name.endswith(("__main__", "_winconsole", ".onnx_reader")) or ".adapters." in found.name:
            continue  # libraries that these import may start threads, and no command needs them at its start
        try:
            importlib.import_module(found.name)
        except ModuleNotFoundError as error:
            if error.name != "triton":  # kernels for a GPU, which builds of torch for a CPU come without
                raise
for found in pkgutil.walk_packages(beartype.__path__, "beartype.", onerror=lambda name: None):
    # What its checks need is imported when a call is checked first; what other libraries need is not there.
    with suppress(Exception):
        importlib.import_module(found.name)
NOWHERE = "/nowhere/at/all"
for command in (
    ("translate", NOWHERE, "--input", NOWHERE),
    ("evaluate", NOWHERE, "--source", NOWHERE, "--reference", NOWHERE),
    ("evaluate", NOWHERE, "--text", NOWHERE),
    ("score", NOWHERE, "--source", NOWHERE, "--target", NOWHERE),
    ("generate", NOWHERE, "--prompt", "the"),
    ("export", NOWHERE, "--out", NOWHERE),
    ("average", NOWHERE, NOWHERE, "--out", NOWHERE),
    ("replay", NOWHERE, "--step", "3"),
    ("train", NOWHERE),
):
    CliRunner().invoke(app, list(command))
check_recipe(load_recipe(Path(__file__).parent.parent / "recipes" / "demo.yaml"))
