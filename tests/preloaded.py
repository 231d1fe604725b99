"""What children of tests need, imported once by the server that they are forked from (`tests/children.py`).

It imports and computes nothing, so that it has no threads. Children that become another user may be unable to read the
packages, so what their commands import late is here too.
"""

import importlib
import pkgutil
from pathlib import Path

from jaxtyping import install_import_hook

from tests.checked_calls import install

# As in the process that runs the tests: calls within trimtab are checked.
install()
install_import_hook("trimtab", "beartype.beartype")

import beartype  # noqa: E402
import huggingface_hub.file_download  # noqa: E402, F401
import hypothesis  # noqa: E402, F401
import pytest  # noqa: E402, F401
import torch  # noqa: E402, F401

# A child that becomes another user may not be able to read the packages: what typer imports when it is called, and what
# a command imports before it refuses, is imported here.
import typer  # noqa: E402
from transformers import (  # noqa: E402, F401
    AutoModelForCausalLM,
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    GenerationConfig,
    MarianConfig,
    MarianMTModel,
    PegasusConfig,
)
from typer.testing import CliRunner  # noqa: E402

import trimtab  # noqa: E402
from trimtab.checks.check_recipe import check_recipe  # noqa: E402
from trimtab.cli.app import app  # noqa: E402
from trimtab.config.load import load_recipe  # noqa: E402

for package in (typer, trimtab, beartype):
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if found.name.endswith(("__main__", "_winconsole")) or found.name.startswith("trimtab.adapters."):
            continue  # libraries that adapters import may start threads, and no command needs them
        try:
            importlib.import_module(found.name)
        except ModuleNotFoundError as error:
            if error.name != "triton":  # kernels for a GPU, which builds of torch for a CPU come without
                raise
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
