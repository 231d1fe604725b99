"""Shortlists as files: written once, read only for the vocabularies that they were made for."""

import os
from pathlib import Path

import numpy as np
import torch
from safetensors import SafetensorError
from torch import Tensor

from trimtab.checkpoint.disk_space import failures_reported
from trimtab.checkpoint.durable import sync_folder, write_file
from trimtab.checkpoint.tensor_file import file_content, file_size, read_tensors
from trimtab.config.given_path import path_text
from trimtab.data.tokenizers import Tokenizers
from trimtab.decode.shortlist import Shortlist
from trimtab.errors import InputError, input_error, reading
from trimtab.types import Ragged

FILE = "the file that `trimtab shortlist` wrote"
LAYOUT = 1
"""Of the tensors in the file; another layout needs another number."""


def write_shortlist(path: Path, shortlist: Shortlist, *, tokenizers: Tokenizers) -> None:
    """Writes a new safetensors file as a whole or not at all. Raises InputError if there is one already or it cannot be
    made, DiskFull where the disk is full."""
    check_new(path)
    tensors = {
        "layout": torch.tensor([LAYOUT]),
        "always": torch.from_numpy(shortlist.always.astype(np.int64)),
        "targets": torch.from_numpy(shortlist.of_source.values.astype(np.int32)),
        "offsets": torch.from_numpy(shortlist.of_source.offsets.astype(np.int64)),
        **{f"{name}_sha256": _as_tensor(mark) for name, mark in tokenizers.fingerprints.items()},
    }
    draft = path.with_name(f".{path.name}.tmp")
    fix = "free some space and call it again"
    with failures_reported(path.name, folder=path.parent, needed=file_size(tensors), fix=fix):
        try:
            draft.unlink(missing_ok=True)
            write_file(draft, file_content(tensors))
            os.replace(draft, path)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
        sync_folder(path.parent)


def check_new(path: Path) -> None:
    """InputError if there is something of this name, or no folder for it."""
    if os.path.lexists(path):
        raise input_error(
            f"--out {path}: already exists",
            got="a file or folder with this name",
            allowed="a new file",
            fix="name another file, or remove this one",
        )
    if not path.parent.is_dir() or not os.access(path.parent, os.W_OK | os.X_OK):
        raise input_error(
            f"--out {path}: cannot be written",
            got="no such folder" if not path.parent.is_dir() else "a folder that you may not write to",
            allowed="a new file in an existing folder",
            fix="create the folder, or name another file",
        )


def read_shortlist(path: Path | str, *, tokenizers: Tokenizers) -> Shortlist:
    """The shortlist in a file. Raises InputError if it cannot be read, is something else, or was made for other
    vocabularies."""
    path = Path(path_text(path, name="shortlist", allowed=FILE))
    with reading(path):
        try:
            tensors = read_tensors(path)
        except SafetensorError as error:
            raise _no_shortlist(path, str(error)) from None
    wanted = {"layout", "always", "targets", "offsets", "tokenizer_sha256"}
    if missing := wanted - set(tensors):
        raise _no_shortlist(path, f"no {', '.join(sorted(missing))} in it")
    if (layout := tensors["layout"].tolist()) != [LAYOUT]:
        raise _no_shortlist(path, f"layout {layout}, of another version of trimtab")
    marks = {name: _as_text(tensors.get(f"{name}_sha256")) for name in ("tokenizer", "source_tokenizer")}
    for name, mark in marks.items():
        own = tokenizers.fingerprints.get(name, "")
        if mark != own:
            raise input_error(
                f"{path}: a shortlist of another {name.replace('_', ' ')} than the model's",
                got=f"sha256 {mark[:16] or 'none'}",
                allowed=f"{own[:16] or 'none'}, the model's",
                fix="make one for this run: `trimtab shortlist RUN --out FILE`",
            )
    found = Shortlist(
        always=tensors["always"].numpy(),
        of_source=Ragged(tensors["targets"].numpy(), tensors["offsets"].numpy()),
        num_ids=tokenizers.target.num_ids,
        copies=tokenizers.shared,
    )
    _check(path, found, num_source_ids=tokenizers.source.num_ids)
    return found


def _check(path: Path, found: Shortlist, *, num_source_ids: int) -> None:
    """A file of the right names may still hold numbers that nothing can be looked up with."""
    offsets, rows = found.of_source.offsets, found.of_source
    ids = np.concatenate([found.always, rows.values])
    sound = (
        all(each.ndim == 1 for each in (offsets, rows.values, found.always))
        and len(rows) == num_source_ids
        and offsets[0] == 0
        and offsets[-1] == len(rows.values)
        and bool((np.diff(offsets) >= 0).all())
        and (not len(ids) or 0 <= ids.min() <= ids.max() < found.num_ids)
    )
    if not sound:
        raise _no_shortlist(path, "ids or rows that do not fit the vocabularies")


def _no_shortlist(path: Path, why: str) -> InputError:
    return input_error(
        f"{path}: not a shortlist, or a damaged one",
        got=" ".join(why.split())[:200],
        allowed=FILE,
        fix="make one: `trimtab shortlist RUN --out FILE`",
    )


def _as_tensor(text: str) -> Tensor:
    return torch.from_numpy(np.frombuffer(text.encode(), np.uint8).copy())


def _as_text(tensor: Tensor | None) -> str:
    return "" if tensor is None else bytes(tensor.to(torch.uint8).tolist()).decode("ascii", "replace")
