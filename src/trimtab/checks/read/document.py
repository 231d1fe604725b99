"""Bytes to a document: decides the syntax by the file's name, or by its content where the name says nothing."""

import re
from collections.abc import Callable
from pathlib import PurePath
from typing import Final, Literal

from trimtab.checks.document import Document, Syntax
from trimtab.checks.read.decode import decode
from trimtab.checks.read.lines import Lines

Format = Syntax | Literal["notebook"]

SUFFIXES: Final[dict[str, Format]] = {
    ".yaml": "yaml",
    ".yml": "yaml",
    ".json": "json",
    ".py": "python",
    ".ipynb": "notebook",
    ".sh": "shell",
    ".bash": "shell",
}

_SHEBANG = re.compile(r"#!.*?\b(?:(python)|(?:ba|z|da|k)?sh)\b")
_COMMAND = re.compile(
    r"^\s*(?:[A-Za-z_]\w*=\S*\s+)*(?:accelerate\s+launch|torchrun|deepspeed|python[0-9.]*|llamafactory-cli|axolotl|trl"
    r"|onmt_\w+|eole|mammoth_\w+|marian|marian-decoder|sockeye-[\w-]+|fairseq-[\w-]+|nohup|srun)\s+\S",
    re.MULTILINE,
)
_PYTHON = re.compile(
    r"^(?:import\s+[\w.]+|from\s+[\w.]+\s+import\b|(?:async\s+)?def\s+\w+\s*\(|class\s+\w+|@\w|\w+\s*=\s*\S|[\w.]+\()",
    re.MULTILINE,
)


def read_document(
    path: str,
    data: bytes,
    *,
    syntax: Format | None = None,
    beside: Callable[[str], Lines | None] | None = None,
) -> Document:
    """Reads a file by its syntax alone; raises InputError with `path:line:column` for what cannot be read."""
    text = decode(path, data)
    match syntax or _format(path, text):
        case "yaml":
            from trimtab.checks.read.yaml import read_yaml

            return read_yaml(path, text)
        case "json":
            from trimtab.checks.read.json import read_json

            return read_json(path, text)
        case "python":
            from trimtab.checks.read.python import read_python

            return read_python(path, text, beside=beside)
        case "notebook":
            from trimtab.checks.read.notebook import read_notebook

            return read_notebook(path, text)
        case "shell":
            from trimtab.checks.read.shell import read_shell

            return read_shell(path, text)


def _format(path: str, text: str) -> Format:
    suffix = PurePath(path).suffix.lower()
    if suffix in SUFFIXES:
        return SUFFIXES[suffix]
    if shebang := _SHEBANG.match(text):
        return "python" if shebang[1] else "shell"
    if text.lstrip()[:1] in ("{", "["):
        return "notebook" if re.search(r'"nbformat"\s*:', text) and '"cells"' in text else "json"
    if _COMMAND.search(text):
        return "shell"
    return "python" if _PYTHON.search(text) else "yaml"
