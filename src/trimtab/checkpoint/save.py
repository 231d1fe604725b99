"""Writes the files of one checkpoint, each synced, the manifest last; committing it is the store's."""

import os
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from torch import Tensor

from trimtab import __version__
from trimtab.checkpoint.durable import sync_folder, write_file
from trimtab.checkpoint.manifest import FORMAT, MANIFEST, MODEL, OPTIMIZER, STATE, Manifest, parse, render
from trimtab.checkpoint.state_file import render_state
from trimtab.checkpoint.tensor_file import describe, file_content, file_size, snapshot
from trimtab.types import TrainState


@dataclass(frozen=True, slots=True)
class Contents:
    """What goes into a checkpoint, out of reach of the training that continues."""

    step: int
    state: bytes
    best: int | None
    """The step whose checkpoint is the best so far."""
    model: dict[str, Tensor]
    optimizer: dict[str, Tensor]
    fingerprints: dict[str, str]

    @property
    def size(self) -> int:
        """Bytes of the files, without the manifest."""
        return file_size(self.model) + file_size(self.optimizer) + len(self.state)


def take_contents(
    state: TrainState,
    *,
    model: Mapping[str, Tensor],
    optimizer: Mapping[str, Tensor],
    fingerprints: Mapping[str, str],
) -> Contents:
    """Copies everything to host memory; the writer never sees a tensor that training may change."""
    return Contents(
        step=state.step,
        state=render_state(state),
        best=state.best.get("step"),
        model=snapshot(model),
        optimizer=snapshot(optimizer),
        fingerprints=dict(fingerprints),
    )


def write_checkpoint(folder: Path, contents: Contents, *, parent: Manifest | None) -> Manifest:
    """Makes `folder` and fills it; on return it is on the disk and can be renamed into place. Raises OSError."""
    os.mkdir(folder)
    written = {
        MODEL: write_file(folder / MODEL, file_content(contents.model)),
        OPTIMIZER: write_file(folder / OPTIMIZER, file_content(contents.optimizer)),
        STATE: write_file(folder / STATE, [contents.state]),
    }
    content = render(
        {
            "format": FORMAT,
            "step": contents.step,
            "files": {name: asdict(record) for name, record in written.items()},
            "tensors": {MODEL: _records(contents.model), OPTIMIZER: _records(contents.optimizer)},
            "fingerprints": contents.fingerprints,
            "parent": {"step": parent.step, "digest": parent.digest} if parent else None,
            "versions": _versions(),
        }
    )
    manifest = parse(content, checkpoint=folder)  # so nothing is written that could not be read
    write_file(folder / MANIFEST, [content])
    sync_folder(folder)
    return manifest


def _records(tensors: Mapping[str, Tensor]) -> dict[str, Any]:
    return {
        name: {"dtype": dtype, "shape": list(shape)} for name, (dtype, shape) in describe(tensors).items()
    }


def _versions() -> dict[str, str]:
    libraries = {name: version(name) for name in ("torch", "safetensors")}
    return {"python": platform.python_version(), "trimtab": __version__, **libraries}
