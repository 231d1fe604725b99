"""What children of tests need, imported once by the server that they are forked from (`tests/children.py`).

It imports and computes nothing, so that it has no threads. Children that become another user may be unable to read the
packages, so what their commands import late is here too.
"""

from jaxtyping import install_import_hook

from tests.checked_calls import install

# As in the process that runs the tests: calls within trimtab are checked.
install()
install_import_hook("trimtab", "beartype.beartype")

import huggingface_hub.file_download  # noqa: E402, F401
import hypothesis  # noqa: E402, F401
import pytest  # noqa: E402, F401
import torch  # noqa: E402, F401
from transformers import (  # noqa: E402, F401
    AutoModelForCausalLM,
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    GenerationConfig,
    MarianConfig,
    MarianMTModel,
    PegasusConfig,
)

import trimtab.checkpoint.background  # noqa: E402
import trimtab.checkpoint.run_folder  # noqa: E402
import trimtab.cli.app  # noqa: E402
import trimtab.launch  # noqa: E402, F401
