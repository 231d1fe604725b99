import hashlib
import os
from pathlib import Path

import pytest

from tests.checkpoint.dying import dies_before_call
from trimtab.checkpoint.durable import replace_file, sync_folder, write_file
from trimtab.errors import DiskFull, RunFailed


def test_size_and_hash_are_of_what_lies_on_the_disk(tmp_path: Path):
    large = os.urandom(9 * 2**20)
    written = write_file(tmp_path / "file", [b"head", memoryview(large), b"", b"tail"])
    content = (tmp_path / "file").read_bytes()
    assert content == b"head" + large + b"tail"
    assert written.size == len(content)
    assert written.sha256 == hashlib.sha256(content).hexdigest()


def test_a_file_that_is_there_is_never_written_over(tmp_path: Path):
    (tmp_path / "file").write_bytes(b"old")
    with pytest.raises(FileExistsError):
        write_file(tmp_path / "file", [b"new"])
    assert (tmp_path / "file").read_bytes() == b"old"


def test_a_kill_at_any_moment_of_a_replacement_leaves_the_old_file_or_the_new_one(in_memory: Path):
    path = in_memory / "file"
    seen = []
    for number in range(20):
        path.write_bytes(b"old")
        if not dies_before_call(number, lambda: replace_file(path, b"new")):
            break
        seen.append(path.read_bytes())
        replace_file(path, b"newer")  # what a dead process left is no hindrance
        assert path.read_bytes() == b"newer"
        assert os.listdir(in_memory) == ["file"]
    assert seen[0] == b"old"
    assert seen[-1] == b"new"
    assert set(seen) == {b"old", b"new"}


@pytest.mark.parametrize(
    ("number", "error"), [(28, DiskFull), (122, DiskFull), (5, RunFailed), (30, RunFailed)]
)
def test_a_replacement_that_fails_leaves_the_old_file_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, error: type[Exception]
):
    (tmp_path / "file").write_bytes(b"old")

    def fail(_: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(error):
        replace_file(tmp_path / "file", b"new")
    assert os.listdir(tmp_path) == ["file"]
    assert (tmp_path / "file").read_bytes() == b"old"


def test_a_file_system_that_cannot_sync_folders_is_put_up_with_and_a_failing_one_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def fail(number: int) -> None:
        def sync(_: int) -> None:
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr(os, "fsync", sync)

    fail(22)
    sync_folder(tmp_path)
    fail(5)
    with pytest.raises(OSError, match="Input/output error"):
        sync_folder(tmp_path)
