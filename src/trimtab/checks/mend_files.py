"""Fixes files where they stand: what `--fix` and `--diff` do."""

import errno
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from trimtab.checks.check import Paths, found_files
from trimtab.checks.files import STANDARD_INPUT, Files, read_bytes
from trimtab.checks.findings import findings_of
from trimtab.checks.fix.mend import Seen, mend
from trimtab.checks.record import record
from trimtab.checks.rule import Diagnosis
from trimtab.checks.selection import Chosen, chosen_rules
from trimtab.checks.silence.run import Silences
from trimtab.checks.versions import parse_versions
from trimtab.checks.write import text_of, write_text
from trimtab.errors import InputError, Problem, input_error

_BYTE_ORDER_MARK = "\ufeff"


@record(kw_only=True)
class MendedFile:
    """What became of one file."""

    path: str
    before: str
    after: str
    done: tuple[Diagnosis, ...]
    left: tuple[tuple[Diagnosis, str], ...]
    """Findings that could not be fixed, and why."""
    problem: Problem | None = None
    """Why the file could not be written; then it is as it was."""


def mend_files(
    paths: Paths,
    *,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    as_kind: str | None = None,
    versions: Sequence[str] = (),
    changes_training: bool = False,
    write: bool = True,
) -> list[MendedFile]:
    """Fixes every file that can be read and has something to fix; suppressed findings are left as they are.

    Raises InputError for a wrong option and for standard input; files that cannot be read are for `check` to tell.
    """
    chosen = chosen_rules(select, ignore)
    asked = parse_versions(versions)
    mended: list[MendedFile] = []
    for file in found_files(paths)[0]:
        if file.path == STANDARD_INPUT:
            raise input_error(
                "--fix: standard input cannot be fixed",
                got="-",
                allowed="files and folders",
                fix="name a file",
            )
        if file.closed:
            continue
        files = Files(as_kind=as_kind, versions=asked)
        try:
            each = _mended(file.path, files, chosen, changes_training)
        except InputError:
            continue
        mended.append(_written(each) if write and each.after != each.before else each)
    return mended


def _mended(path: str, files: Files, chosen: Chosen, changes_training: bool) -> MendedFile:
    text = text_of(path, read_bytes(path))
    mark = _BYTE_ORDER_MARK if text.startswith(_BYTE_ORDER_MARK) else ""

    def look(text: str) -> Seen:
        document = files.parse(path, text.encode("utf-8"))
        runs = files.describe(document)
        if not runs:
            raise input_error("not a configuration")
        diagnoses, _ = findings_of(runs, chosen)
        here = [each for each in diagnoses if each.place.path == path]
        told = Silences(chosen, ()).apply(document, here)
        return Seen(runs[0].document, tuple(told))

    result = mend(text.removeprefix(mark), look, changes_training=changes_training)
    return MendedFile(path=path, before=text, after=mark + result.text, done=result.done, left=result.left)


def _written(file: MendedFile) -> MendedFile:
    try:
        write_text(Path(file.path), file.after, before=file.before.encode("utf-8"))
    except InputError as error:
        problem = error.problems[0]
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise
        problem = Problem(
            what=f"{file.path}: cannot be written", got=error.strerror or str(error), where=file.path
        )
    else:
        return file
    return replace(file, after=file.before, done=(), problem=problem)
