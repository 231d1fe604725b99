import os
from collections.abc import Callable
from pathlib import Path

import pytest

from trimtab.checkpoint.lock import Lock
from trimtab.checkpoint.permissions import check_permissions
from trimtab.checkpoint.run_folder import RunFolder
from trimtab.errors import InputError

Close = Callable[[Path, int], None]


@pytest.fixture
def closed(monkeypatch: pytest.MonkeyPatch) -> Close:
    """Takes a right to a path away, as seen by `os.access`: root has every right in truth."""

    def close(path: Path, right: int) -> None:
        allowed = os.access

        def access(asked: Path, mode: int) -> bool:
            return allowed(asked, mode) and not (str(asked) == str(path) and mode & right)

        monkeypatch.setattr(os, "access", access)

    return close


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    """A run with a file of every kind."""
    with RunFolder.create(tmp_path / "run") as folder:
        folder.write_recipe("seed: 1\n")
        folder.checkpoints.mkdir()
        (folder.tokenizer / "source").mkdir(parents=True)
        (folder.tokenizer / "source" / "sentencepiece.model").touch()
        for each in (folder.metrics, folder.evaluations, folder.samples, folder.findings, folder.health):
            each.touch()
    return folder


WRITTEN = (".lock", "checkpoints", "metrics.jsonl", "evaluations.jsonl", "samples.jsonl", "findings.jsonl")
READ = ("recipe.yaml", "tokenizer", "tokenizer/source", "tokenizer/source/sentencepiece.model")


@pytest.mark.parametrize(
    ("name", "right"),
    [
        *((name, os.R_OK) for name in (*WRITTEN, *READ)),
        *((name, os.W_OK) for name in (*WRITTEN, "")),
        *((name, os.X_OK) for name in ("", "checkpoints", "tokenizer")),
    ],
)
def test_a_run_that_is_closed_somewhere_is_not_gone_on_with(
    run: RunFolder, closed: Close, name: str, right: int
):
    closed(run.path / name, right)
    before = sorted(os.listdir(run.path))
    with pytest.raises(InputError, match="not readable and writable") as caught:
        RunFolder.open(run.path)
    (problem,) = caught.value.problems
    assert problem.got == f"no permission: {name or f'the folder {run.path}'}"
    assert problem.allowed
    assert f"chmod -R u+rwX {run.path}" in problem.fix
    assert problem.where == str(run.path / name)
    assert sorted(os.listdir(run.path)) == before


@pytest.mark.parametrize("name", READ)
def test_what_is_only_read_need_not_be_written(run: RunFolder, closed: Close, name: str):
    closed(run.path / name, os.W_OK)
    RunFolder.open(run.path).close()


def test_many_closed_files_are_told_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    files = [tmp_path / str(number) for number in range(8)]
    for each in files:
        each.touch()

    def only_the_folder(path: Path, _: int) -> bool:
        return path == tmp_path

    monkeypatch.setattr(os, "access", only_the_folder)
    with pytest.raises(InputError, match="no permission: 0, 1, 2, 3, 4 and 3 more"):
        check_permissions(tmp_path, written=files, read=[])


def test_what_is_not_there_needs_no_right(tmp_path: Path):
    check_permissions(tmp_path, written=[tmp_path / "no"], read=[tmp_path / "nor" / "this"])
    check_permissions(tmp_path / "nowhere", written=[], read=[])


@pytest.mark.parametrize(
    "error", [PermissionError(13, "Permission denied"), OSError(30, "Read-only file system")]
)
def test_a_lock_that_cannot_be_taken_for_want_of_rights_is_the_users_to_mend(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: OSError
):
    def refuse(*_: object) -> int:
        raise error

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(InputError, match=f"got     {error.strerror}: .lock") as caught:
        Lock(tmp_path)
    assert caught.value.exit_code == 2
