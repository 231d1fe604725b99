"""The tools that judge text and types, run as part of the tests, so that one command says whether all is well."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize(
    "command",
    [
        ["-m", "ruff", "check", "--no-cache", "--output-format", "concise", "."],
        ["-m", "ruff", "format", "--no-cache", "--check", "."],
        ["-m", "pyright", "--pythonpath", sys.executable],
        ["-c", "from importlinter.cli import lint_imports_command; lint_imports_command()", "--no-cache"],
    ],
    ids=["lint", "format", "types", "layers"],
)
def test_the_tools_find_nothing(command):
    done = subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, (done.stdout + done.stderr)[:4000]
