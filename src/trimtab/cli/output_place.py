"""Checks the output path before a model is loaded, so that no input is overwritten."""

import errno
import os
import stat
import sys
from collections.abc import Iterator, Mapping, Sequence
from io import TextIOBase
from pathlib import Path
from tempfile import TemporaryFile
from typing import TextIO

from trimtab.errors import InputError, input_error

_LOGS = ("metrics", "evaluations", "samples", "findings", "quarantine", "health")
_OF_A_RUN = frozenset(
    {"recipe.yaml", "data_ledger.json", "average.json", ".lock", "checkpoints", "tokenizer"}
    | {f"{log}.jsonl" for log in _LOGS}
)
_OF_AN_EXPORT = Path("trimtab") / "export.json"


def check_output(
    output: Path | None,
    *,
    inputs: Mapping[str, Path | None],
    models: Sequence[str] = (),
    option: str = "--output",
) -> None:
    """InputError if the output is one of the inputs, by whatever name, or a file of a model, or cannot be made.

    `inputs` are paths by the name of their option, None if it was not given; standard input and output count where
    they are files. `models` are runs or exports as the user names them. Other code reports a missing input.
    """
    place = _status(output if output is not None else sys.stdout)
    for read, path in inputs.items():
        if path is None and read != "--input":
            continue
        found = _status(path if path is not None else sys.stdin)
        if place is not None and found is not None and os.path.samestat(place, found):
            raise _same_file(output, read, path, to=option)
    if output is None:
        return
    for model in models:
        if place is not None and _belongs_to(output, model):
            raise _of_the_model(output, model, option)
    check_place(output, option=option)


def check_place(output: Path, *, option: str = "--output") -> None:
    """InputError if no file can be made at this place."""
    try:
        number = _obstacle(output)
    except OSError as error:
        raise not_writable(output, error, option=option) from None
    if number:
        raise not_writable(output, OSError(number, os.strerror(number)), option=option)


def _obstacle(output: Path) -> int:
    """The number of the error that writing would meet, 0 for none; raises what looking meets itself."""
    if os.path.isdir(output):
        return errno.EISDIR
    folder = os.stat(output.parent)
    if os.path.exists(output) and not os.path.isfile(output):  # a pipe or a device is opened where it is
        return 0
    if not stat.S_ISDIR(folder.st_mode):
        return errno.ENOTDIR
    if not os.access(output.parent, os.W_OK | os.X_OK):
        return errno.EACCES
    # Some file systems, such as /proc, reject new files regardless of their permissions.
    if not output.exists():
        with TemporaryFile(dir=output.parent):
            pass
    return 0


def not_writable(output: Path, error: OSError, *, option: str = "--output") -> InputError:
    """The error for an output that the operating system refuses."""
    return input_error(
        f"{option} {output}: cannot be written",
        got=error.strerror or str(error),
        allowed="a file in an existing folder that you may write to",
        fix="create the folder, or name another file",
    )


def _status(place: Path | TextIO | TextIOBase) -> os.stat_result | None:
    """Of a plain file; None of everything else."""
    try:
        found = os.stat(place) if isinstance(place, Path) else os.fstat(place.fileno())
    except (OSError, ValueError, AttributeError):  # not there, closed, or a stand-in of tests
        return None
    return found if stat.S_ISREG(found.st_mode) else None


def _same_file(output: Path | None, option: str, path: Path | None, *, to: str) -> InputError:
    given, to = to, "standard output" if output is None else f"{to} {output}"
    source = "standard input" if path is None else f"{option} {path}"
    return input_error(
        f"{to}: is the same file as {source}, which the result would overwrite",
        got=f"one file: {os.path.realpath(path if path is not None else output or '')}",
        allowed="a file that is not an input",
        fix=f"name another file with {given}",
    )


def _belongs_to(output: Path, model: str) -> bool:
    """Whether it is a file that a run or an export is made of."""
    place = Path(os.path.realpath(output))
    for folder in _folders(model):
        if not place.is_relative_to(folder):
            continue
        first = place.relative_to(folder).parts[0]
        if first in _OF_A_RUN or os.path.exists(folder / _OF_AN_EXPORT):
            return True
    return False


def _folders(model: str) -> Iterator[Path]:
    """What the name of a model may be the folder of: itself, or the run of RUN@STEP."""
    for name in (model, model.rpartition("@")[0]):
        if name and os.path.isdir(name):
            folder = Path(os.path.realpath(name))
            yield folder
            if folder.parent.name == "checkpoints":  # a checkpoint itself
                yield folder.parent.parent


def _of_the_model(output: Path, model: str, option: str) -> InputError:
    return input_error(
        f"{option} {output}: is part of the model {model}, which the result would overwrite",
        got=str(output),
        allowed="a file outside all models",
        fix="name another file",
    )
