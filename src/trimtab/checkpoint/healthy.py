"""The healthy mark of checkpoints: a run that goes wrong rolls back to the newest one that has it.

It is a small file in the checkpoint's folder that names the manifest by its hash. A mark that is missing, cut off,
damaged or copied from another checkpoint marks nothing.
"""

import os
import stat
from pathlib import Path

from trimtab.checkpoint.durable import replace_file
from trimtab.checkpoint.manifest import Manifest

HEALTHY = "healthy"
"""Name of the file."""


def put_mark(folder: Path, manifest: Manifest) -> None:
    """Marks the checkpoint in `folder`; on return the mark is on the disk. Raises DiskFull, RunFailed."""
    replace_file(folder / HEALTHY, _content(manifest))


def is_marked(folder: Path, manifest: Manifest) -> bool:
    """Whether the checkpoint in `folder`, of this manifest, bears a mark of its own."""
    expected = _content(manifest)
    try:
        # Neither follows a link nor waits for a writer of a pipe.
        descriptor = os.open(folder / HEALTHY, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        plain = stat.S_ISREG(os.fstat(descriptor).st_mode)
        return plain and os.read(descriptor, len(expected) + 1) == expected
    except OSError:
        return False
    finally:
        os.close(descriptor)


def _content(manifest: Manifest) -> bytes:
    return f"healthy {manifest.digest}\n".encode("ascii")
