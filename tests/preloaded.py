"""What children of tests need, imported once by the server that they are forked from (`tests/children.py`).

It imports and computes nothing, so that it has no threads. Children that become another user may be unable to read the
packages, so what their commands import late is here too.
"""

import importlib
import pkgutil

from jaxtyping import install_import_hook

from tests.checked_calls import install

# As in the process that runs the tests: calls within trimtab are checked.
install()
install_import_hook("trimtab", "beartype.beartype")

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

import trimtab.checkpoint.background  # noqa: E402
import trimtab.checkpoint.run_folder  # noqa: E402
import trimtab.cli.app  # noqa: E402
import trimtab.launch  # noqa: E402

for found in pkgutil.walk_packages(typer.__path__, "typer."):
    if not found.name.endswith(("__main__", "_winconsole")):
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
    CliRunner().invoke(trimtab.cli.app.app, list(command))
