"""The manifest: what a checkpoint consists of, so that damage, mixing and truncation cannot pass unseen.

It is JSON in one canonical spelling that ends in a hash of itself, so a flipped bit in the manifest shows as surely
as one in the files that it vouches for.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from trimtab.checkpoint.step_folders import list_steps, step_name
from trimtab.errors import InputError, Problem

FORMAT = 1
"""Raised whenever an older trimtab could no longer read what a newer one writes."""

MODEL = "model.safetensors"
OPTIMIZER = "optimizer.safetensors"
STATE = "state.json"
MANIFEST = "manifest.json"

MAX_BYTES = 16 * 2**20
"""No honest manifest comes near; a larger one is not read at all. As lists it takes some twenty times its size."""

_MOST_NAMED = 3

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Count = Annotated[int, Field(ge=0, lt=2**63)]
TensorFile = Literal["model.safetensors", "optimizer.safetensors"]


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class FileRecord(_Record):
    """One file: its bytes and their hash."""

    size: Count
    sha256: Sha256


class FileRecords(_Record):
    """The files of a checkpoint; the names are fixed, so no manifest can point outside its folder."""

    model: FileRecord = Field(alias=MODEL)
    optimizer: FileRecord = Field(alias=OPTIMIZER)
    state: FileRecord = Field(alias=STATE)

    @property
    def tensors(self) -> tuple[FileRecord, FileRecord]:
        """Weights and moments."""
        return self.model, self.optimizer

    def named(self) -> dict[str, FileRecord]:
        """By name of the file."""
        return {MODEL: self.model, OPTIMIZER: self.optimizer, STATE: self.state}


class TensorRecord(_Record):
    """One tensor: element type as safetensors names it, and shape."""

    dtype: str
    shape: tuple[Count, ...]


class Parent(_Record):
    """The checkpoint that this one was trained on from."""

    step: Count
    digest: Sha256


class Manifest(_Record):
    """The content of `manifest.json`."""

    format: Literal[1]
    step: Count
    files: FileRecords
    tensors: dict[TensorFile, dict[str, TensorRecord]] = Field(min_length=2)
    fingerprints: dict[str, str]
    """Names and values that must not change on resume: of the recipe, the data, the tokenizer."""
    parent: Parent | None
    versions: dict[str, str]
    """Libraries that wrote the checkpoint."""
    digest: Sha256
    """Hash of the rest."""


class Damaged(InputError):
    """A file of a checkpoint is not what it was when the checkpoint was committed."""

    def __init__(self, checkpoint: Path, file: str, reason: str) -> None:
        self.file = file
        self.reason = reason
        super().__init__(
            Problem(
                what=f"checkpoint {checkpoint.name} is damaged: {file} {reason}",
                got=f"{file} {reason}",
                allowed="the file as it was committed, byte by byte",
                fix=_other_than(checkpoint),
                where=str(checkpoint / file),
            )
        )


def _other_than(checkpoint: Path) -> str:
    """What to use in place of a checkpoint: those beside it, the newest first, whether they are sound or not."""
    try:
        others = [step for step in list_steps(checkpoint.parent) if step_name(step) != checkpoint.name]
    except InputError:  # what is beside it may not be read
        others = []
    if not others:
        return "restore the file from a copy; the run has no other checkpoint"
    names = [f"{checkpoint.parent.parent}@{step}" for step in sorted(others, reverse=True)[:_MOST_NAMED]]
    return f"use another checkpoint of the run ({', '.join(names)}), or restore the file from a copy"


class NewerFormat(InputError):
    """A checkpoint was written by a newer trimtab."""


def render(fields: Mapping[str, Any]) -> bytes:
    """The one spelling of a manifest, given all but its digest."""
    rest = _canonical(fields)
    digest = hashlib.sha256(rest).hexdigest()
    if fields and all(name > "digest" for name in fields):  # as in every manifest that trimtab writes
        return b'{\n "digest": "%s",' % digest.encode() + rest[1:]
    return _canonical({**fields, "digest": digest})


def parse(content: bytes, *, checkpoint: Path) -> Manifest:
    """Reads and checks a manifest of the folder `checkpoint`; raises Damaged or NewerFormat."""
    if len(content) > MAX_BYTES:
        raise Damaged(checkpoint, MANIFEST, f"has more than {MAX_BYTES} bytes")
    try:
        fields = json.loads(content)
        digest = fields.pop("digest")
        rendered = render(fields)
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        raise Damaged(checkpoint, MANIFEST, "cannot be read as a manifest") from None
    if rendered != content:
        raise Damaged(checkpoint, MANIFEST, f"does not agree with its own hash {str(digest)[:12]}")
    if isinstance(fields.get("format"), int) and fields["format"] > FORMAT:
        raise _newer(checkpoint, fields["format"])
    try:
        return Manifest.model_validate_json(content)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "the manifest"
        raise Damaged(checkpoint, MANIFEST, f"is not a manifest: {place}: {first['msg']}") from None


def _canonical(fields: Mapping[str, Any]) -> bytes:
    return (json.dumps(fields, sort_keys=True, indent=1) + "\n").encode("ascii")


def _newer(checkpoint: Path, found: int) -> NewerFormat:
    return NewerFormat(
        Problem(
            what=f"checkpoint {checkpoint.name} was written by a newer trimtab",
            got=f"format {found}",
            allowed=f"format {FORMAT}",
            fix="update trimtab, or use an older checkpoint of the run",
            where=str(checkpoint / MANIFEST),
        )
    )
