import errno

import pytest

from trimtab.cli.new_file import write_new
from trimtab.errors import InputError


def test_a_new_file_is_written_and_another_is_never_written_over(tmp_path):
    out = tmp_path / "mine.yaml"
    write_new(out, "a: ü\n")
    with pytest.raises(InputError, match="already exists"):
        write_new(out, "b: 2\n")
    assert out.read_text(encoding="utf-8") == "a: ü\n"


def test_a_folder_that_is_not_there_is_wrong_input(tmp_path):
    with pytest.raises(InputError, match="cannot be written"):
        write_new(tmp_path / "no" / "mine.yaml", "a: 1\n")


def test_of_a_full_disk_nothing_is_left_behind(tmp_path, monkeypatch):
    class Full:
        def __enter__(self):
            return self

        def __exit__(self, *_):
            return None

        def write(self, text):
            raise OSError(errno.ENOSPC, "No space left on device")

    out = tmp_path / "mine.yaml"
    real = type(out).open

    def opened(path, *args, **kwargs):
        real(path, "x").close()
        return Full()

    monkeypatch.setattr(type(out), "open", opened)
    with pytest.raises(OSError, match="No space left"):
        write_new(out, "a: 1\n")
    assert not out.exists()
