"""A committed checkpoint, read with distrust: nothing is parsed before its hash agrees with the manifest."""

import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from safetensors import SafetensorError
from torch import Tensor

from trimtab.checkpoint import manifest as manifests
from trimtab.checkpoint.healthy import HEALTHY
from trimtab.checkpoint.manifest import MANIFEST, MODEL, OPTIMIZER, STATE, Damaged, Manifest, TensorFile
from trimtab.checkpoint.state_file import MAX_BYTES, parse_state
from trimtab.checkpoint.step_folders import step_name
from trimtab.checkpoint.tensor_file import read_description, read_tensors
from trimtab.config.run import Weights
from trimtab.errors import input_error
from trimtab.types import TrainState


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """One committed checkpoint; its manifest is sound, its files are hashed when first needed."""

    folder: Path
    manifest: Manifest
    weights: Weights | None = None
    """Which of its weights the user asked for; None if it was not said."""
    direction: str = ""
    """Which direction of a modular model the user asked for; empty if it was not said."""
    _sound: set[str] = field(default_factory=set, repr=False, compare=False)
    """Files whose hash was already found right."""

    @property
    def step(self) -> int:
        """Windows consumed when it was taken."""
        return self.manifest.step

    @property
    def run(self) -> Path:
        """The run folder that it belongs to."""
        return self.folder.parent.parent

    @property
    def fingerprints(self) -> dict[str, str]:
        """What must not have changed when the run continues."""
        return dict(self.manifest.fingerprints)

    def verify(self) -> None:
        """Hashes every file and reads the headers of tensors; raises Damaged at the first that does not agree."""
        for name in self.manifest.files.named():
            self._verify_file(name)
        for name in self.manifest.tensors:
            self._check_description(name)

    def load_model(self) -> dict[str, Tensor]:
        """The weights, on the CPU; raises Damaged."""
        return self._load_tensors(MODEL)

    def load_optimizer(self, *, prefix: str = "") -> dict[str, Tensor]:
        """What the optimizer keeps, on the CPU, or the part whose names begin so; raises Damaged."""
        return self._load_tensors(OPTIMIZER, prefix=prefix)

    def load_state(self) -> TrainState:
        """Where the run was; raises Damaged."""
        self._verify_file(STATE)
        with _reading(self.folder, STATE):
            content = (self.folder / STATE).read_bytes()
        try:
            state = parse_state(content)
        except ValueError as error:
            raise Damaged(self.folder, STATE, str(error)) from None
        if state.step != self.step:
            raise Damaged(self.folder, STATE, f"is that of step {state.step}")
        return state

    def other_files(self) -> list[str]:
        """Names in the folder that the manifest does not know, hidden ones left out; they are never read."""
        known = {MANIFEST, HEALTHY, *self.manifest.files.named()}
        return sorted(
            name for name in os.listdir(self.folder) if name not in known and not name.startswith(".")
        )

    def _load_tensors(self, name: TensorFile, *, prefix: str = "") -> dict[str, Tensor]:
        self._verify_file(name)
        self._check_description(name)
        with _reading(self.folder, name):
            return read_tensors(self.folder / name, prefix=prefix)

    def _check_description(self, name: TensorFile) -> None:
        with _reading(self.folder, name):
            found = read_description(self.folder / name)
        records = self.manifest.tensors[name]
        if found != {key: (record.dtype, record.shape) for key, record in records.items()}:
            raise Damaged(self.folder, name, "holds other tensors than the manifest says")

    def _verify_file(self, name: str) -> None:
        if name in self._sound:
            return
        with _reading(self.folder, name), open(self.folder / name, "rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        expected = self.manifest.files.named()[name].sha256
        if found != expected:
            raise Damaged(
                self.folder, name, f"has the sha256 {found[:12]}…, the manifest says {expected[:12]}…"
            )
        self._sound.add(name)


def open_checkpoint(folder: Path, *, committed_as: str = "") -> Checkpoint:
    """Checks the manifest and that each file is there, no link, and of the right size.

    A draft is opened under the name that it would be committed as. Raises Damaged, NewerFormat, or another
    InputError if reading is not permitted.
    """
    with _reading(folder, "folder"):
        if not stat.S_ISDIR(os.lstat(folder).st_mode):
            raise Damaged(folder, "folder", "is a link or a file, not a folder")
    _plain_size(folder, MANIFEST)
    with _reading(folder, MANIFEST), open(folder / MANIFEST, "rb") as file:
        content = file.read(manifests.MAX_BYTES + 1)
    manifest = manifests.parse(content, checkpoint=folder)
    if step_name(manifest.step) != (committed_as or folder.name):
        raise Damaged(folder, MANIFEST, f"is that of step {manifest.step}")
    for name, record in manifest.files.named().items():
        size = _plain_size(folder, name)
        if size != record.size:
            raise Damaged(folder, name, f"has {size} bytes, the manifest says {record.size}")
    if manifest.files.state.size > MAX_BYTES:
        raise Damaged(folder, STATE, f"has more than {MAX_BYTES} bytes")
    return Checkpoint(folder, manifest)


def _plain_size(folder: Path, name: str) -> int:
    with _reading(folder, name):
        status = os.lstat(folder / name)
    if not stat.S_ISREG(status.st_mode):
        raise Damaged(folder, name, "is a link, a folder or a device, not a plain file")
    return status.st_size


@contextmanager
def _reading(folder: Path, name: str) -> Iterator[None]:
    """Says an error of the operating system as damage, or as a lack of permission, of one file."""
    try:
        yield
    except PermissionError as error:
        raise input_error(
            f"{name} of checkpoint {folder.name} cannot be read: {error.strerror}",
            got=error.strerror or str(error),
            allowed="a file that you may read",
            fix="ask its owner for read permission, or use another checkpoint",
            where=str(folder / name),
        ) from None
    except FileNotFoundError:
        raise Damaged(folder, name, "is missing") from None
    except OSError as error:
        raise Damaged(folder, name, f"cannot be read: {error.strerror}") from None
    except SafetensorError as error:
        raise Damaged(folder, name, f"is not a safetensors file: {error}") from None
