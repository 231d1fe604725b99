import errno
import io
import os
import sys
import threading
from types import SimpleNamespace

import pytest
import zstandard

from trimtab.cli.streams import opened_input, opened_output
from trimtab.errors import DiskFull, InputError


def test_input_is_a_file_or_stdin(tmp_path, monkeypatch):
    path = tmp_path / "a.en"
    path.write_bytes(b"one\n\xff\n")
    with opened_input(path) as file:
        assert file.read() == b"one\n\xff\n"
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"two")))
    with opened_input(None) as file:
        assert file.read() == b"two"


def test_a_missing_input_names_a_near_one(tmp_path):
    (tmp_path / "dev.en").touch()
    with (
        pytest.raises(InputError, match=r"no such file(.|\n)*did you mean .*dev\.en"),
        opened_input(tmp_path / "dev.enn"),
    ):
        pass
    with pytest.raises(InputError, match="no such file"), opened_input(tmp_path / "no" / "dev.en"):
        pass
    with pytest.raises(InputError, match="cannot be read"), opened_input(tmp_path):
        pass


def test_output_appears_only_when_it_is_complete(tmp_path):
    path = tmp_path / "out.de"
    with opened_output(path) as file:
        file.write("eins\n")
        assert not path.exists()
    assert path.read_bytes() == b"eins\n"
    assert os.listdir(tmp_path) == ["out.de"]


def test_what_was_there_stays_when_writing_fails(tmp_path):
    path = tmp_path / "out.de"
    path.write_text("old")
    with pytest.raises(UnicodeEncodeError), opened_output(path) as file:
        print("new", "\ud800", file=file)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["out.de"]


def test_a_full_disk_is_said_and_leaves_nothing(tmp_path):
    with pytest.raises(DiskFull, match="disk is full"), opened_output(tmp_path / "out.de"):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert os.listdir(tmp_path) == []


def test_an_output_that_cannot_be_written_is_wrong_input(tmp_path):
    for path in [tmp_path, tmp_path / "no" / "out.de"]:
        with pytest.raises(InputError, match="cannot be written"), opened_output(path):
            pass


def test_a_pipe_or_a_device_is_written_in_place(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    seen = []
    reader = threading.Thread(target=lambda: seen.append(pipe.read_bytes()))
    reader.start()
    with opened_output(pipe) as file:
        file.write("ö\n")
    reader.join(timeout=10)
    assert seen == ["ö\n".encode()]


def test_standard_output_is_utf8_with_plain_line_ends_and_stays_open(monkeypatch):
    buffer = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(buffer=buffer))
    with opened_output(None) as file:
        file.write("ö\n")
    assert buffer.getvalue() == "ö\n".encode()
    assert not buffer.closed


def test_a_packed_input_file_is_unpacked(tmp_path):
    (tmp_path / "in.zst").write_bytes(zstandard.compress(b"one\ntwo\n"))
    with opened_input(tmp_path / "in.zst") as file:
        assert list(file) == [b"one\n", b"two\n"]


def test_an_input_file_that_is_called_packed_and_is_not_is_named(tmp_path):
    (tmp_path / "in.gz").write_bytes(b"one\n")
    with pytest.raises(InputError, match="the name says gzip"), opened_input(tmp_path / "in.gz"):
        pass


def test_only_a_stream_that_main_put_there_counts_as_closed(monkeypatch):
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        monkeypatch.setattr(sys, "stdout", nowhere)
        with pytest.raises(InputError, match=r"closed.*\n.*>&-(.|\n)*--output"), opened_output(None):
            pass
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(buffer=io.BytesIO(), name="<stdout>"))
    with opened_output(None) as file:
        file.write("eins\n")
    assert sys.stdout.buffer.getvalue() == b"eins\n"


def test_a_broken_link_is_told_by_what_it_leads_to(tmp_path):
    (tmp_path / "dev.en").symlink_to("gone.en")
    with (
        pytest.raises(InputError, match=r"dev\.en: a broken link(.|\n)*gone\.en") as caught,
        opened_input(tmp_path / "dev.en"),
    ):
        pass
    assert "did you mean" not in str(caught.value)
