"""Standard input as a file that can be read twice: copied into the cache under the digest of its content."""

import hashlib
import os
import tempfile
from pathlib import Path

from trimtab.data.cache import set_time_of_name, writable_folder
from trimtab.data.zstd_stream import Reads

STANDARD_INPUT = "-"
_BLOCK_BYTES = 1 << 20


def spooled(stream: Reads, *, cache: Path) -> Path:
    """A file with everything that the stream holds; the same content has the same file, which is written once."""
    folder = writable_folder(cache)
    digest = hashlib.sha256()
    descriptor, draft = tempfile.mkstemp(prefix=".stdin-", dir=folder)
    try:
        with os.fdopen(descriptor, "wb") as file:
            while block := stream.read(_BLOCK_BYTES):
                digest.update(block)
                file.write(block)
        path = folder / f"stdin-{digest.hexdigest()}"
        # Another process may be reading the same text under this name.
        set_time_of_name(Path(draft))
        os.replace(draft, path)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise
    return path
