import os
import stat

import pytest

from trimtab.checks.fix.write import difference, text_of, write_text
from trimtab.errors import InputError


def test_mode_and_line_ends_and_byte_order_mark_stay(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_bytes("\ufeffa: 1\r\nb: ü".encode())
    path.chmod(0o640)
    text = text_of(str(path), path.read_bytes())
    assert text == "\ufeffa: 1\r\nb: ü"
    write_text(path, text.replace("1", "2"))
    assert path.read_bytes() == "\ufeffa: 2\r\nb: ü".encode()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert os.listdir(tmp_path) == ["a.yaml"]


def test_a_link_goes_on_pointing_to_its_file(tmp_path):
    (tmp_path / "a.yaml").write_text("a: 1\n")
    link = tmp_path / "link.yaml"
    link.symlink_to("a.yaml")
    write_text(link, "a: 2\n")
    assert link.is_symlink()
    assert (tmp_path / "a.yaml").read_text() == "a: 2\n"


def test_a_failed_write_leaves_the_file_and_no_draft(tmp_path, monkeypatch):
    path = tmp_path / "a.yaml"
    path.write_text("a: 1\n")
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left")))
    with pytest.raises(OSError, match="No space"):
        write_text(path, "a: 2\n")
    assert path.read_text() == "a: 1\n"
    assert os.listdir(tmp_path) == ["a.yaml"]


def test_what_is_not_utf_8_is_not_touched():
    with pytest.raises(InputError, match="UTF-8"):
        text_of("a.yaml", b"a: \xff\n")


def test_a_difference_is_that_of_diff():
    assert difference("a.yaml", "a: 1\nb: 2", "a: 3\nb: 2") == (
        "--- a.yaml (as it is)\n+++ a.yaml (mended)\n@@ -1,2 +1,2 @@\n-a: 1\n+a: 3\n b: 2\n\\ no line end\n"
    )
    assert difference("a.yaml", "a: 1\n", "a: 1\n") == ""
