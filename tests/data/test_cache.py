import errno
import os
import stat
from pathlib import Path

import pytest

from trimtab.data.cache import committed, default_cache, writable_folder
from trimtab.errors import DiskFull, InputError


def test_the_default_cache_is_looked_up_at_each_call_own_variable_first(monkeypatch):
    monkeypatch.delenv("TRIMTAB_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", "/home/someone")
    assert default_cache() == Path("/home/someone/.cache/trimtab")
    monkeypatch.setenv("XDG_CACHE_HOME", "/fast")
    assert default_cache() == Path("/fast/trimtab")
    monkeypatch.setenv("TRIMTAB_CACHE", "~/own")
    assert default_cache() == Path("/home/someone/own")


def test_a_missing_folder_is_made_and_used(tmp_path):
    assert writable_folder(tmp_path / "a" / "b") == tmp_path / "a" / "b"
    assert (tmp_path / "a" / "b").is_dir()


def test_where_nothing_can_be_written_a_private_temporary_folder_serves(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "file").write_text("in the way")
    folder = writable_folder(tmp_path / "file" / "cache")
    assert folder.parent == tmp_path
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert writable_folder(tmp_path / "file" / "cache") == folder, "the next run finds what this one stored"


def test_a_temporary_folder_that_is_somebody_elses_link_is_not_trusted(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / f"trimtab-{os.getuid()}").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "file").touch()
    folder = writable_folder(tmp_path / "file" / "cache")
    assert folder.resolve() != tmp_path / "elsewhere"


def test_a_file_appears_only_when_it_is_complete(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with committed(path) as file:
        file.write(b"new and longer")
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new and longer"
    assert os.listdir(tmp_path) == ["file"]


def write_and_fail(path, error):
    with committed(path) as file:
        file.write(b"half")
        raise error


def test_nothing_is_left_of_a_file_whose_writing_failed(tmp_path):
    with pytest.raises(ZeroDivisionError):
        write_and_fail(tmp_path / "file", ZeroDivisionError())
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_no_room_and_names_the_folder(tmp_path, code):
    with pytest.raises(DiskFull, match=str(tmp_path)):
        write_and_fail(tmp_path / "file", OSError(code, os.strerror(code)))
    assert os.listdir(tmp_path) == []


def test_a_really_full_device_is_no_room(tmp_path):
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    with pytest.raises(DiskFull), committed(tmp_path / "file"), open("/dev/full", "wb", buffering=0) as full:
        full.write(b"text")


def test_a_folder_that_may_not_be_written_is_an_input_error(tmp_path):
    with pytest.raises(InputError, match="cannot be written"), committed(tmp_path / "nowhere" / "file"):
        pass
