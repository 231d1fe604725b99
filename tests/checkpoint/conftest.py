import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def in_memory(tmp_path: Path) -> Iterator[Path]:
    """A folder where syncing costs nothing, for tests that save hundreds of times; else an ordinary one."""
    if not os.access("/dev/shm", os.W_OK):
        yield tmp_path
        return
    folder = Path(tempfile.mkdtemp(prefix="trimtab-test-", dir="/dev/shm"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)
