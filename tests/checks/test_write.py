import os
import stat

import pytest

from trimtab.checks.write import difference, text_of, write_text
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
        "--- a.yaml (as it is)\n+++ a.yaml (fixed)\n@@ -1,2 +1,2 @@\n-a: 1\n+a: 3\n b: 2\n\\ no line end\n"
    )
    assert difference("a.yaml", "a: 1\n", "a: 1\n") == ""


def test_a_new_file_has_the_mode_that_the_user_gives_new_files(tmp_path):
    (tmp_path / "other").write_text("")
    write_text(tmp_path / "a.json", "{}")
    assert (tmp_path / "a.json").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_a_name_of_the_greatest_length_is_no_hindrance(tmp_path):
    path = tmp_path / ("a" * 250 + ".yaml")
    path.write_text("a: 1\n")
    write_text(path, "a: 2\n")
    assert path.read_text() == "a: 2\n"


def test_what_somebody_saved_meanwhile_is_not_overwritten(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_text("a: 3\n")
    with pytest.raises(InputError, match="changed it meanwhile"):
        write_text(path, "a: 2\n", before=b"a: 1\n")
    assert path.read_text() == "a: 3\n"
    assert os.listdir(tmp_path) == ["a.yaml"]


def test_hard_links_are_not_parted(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_text("a: 1\n")
    os.link(path, tmp_path / "b.yaml")
    with pytest.raises(InputError, match="2 names"):
        write_text(path, "a: 2\n", before=b"a: 1\n")
    assert (tmp_path / "b.yaml").read_text() == path.read_text() == "a: 1\n"
    assert sorted(os.listdir(tmp_path)) == ["a.yaml", "b.yaml"]


def test_a_file_of_another_owner_stays_his_or_is_not_written(tmp_path, monkeypatch):
    path, given = tmp_path / "a.yaml", []
    path.write_text("a: 1\n")
    status = os.stat_result([0o100640, 1, 1, 1, 4321, 4322, 5, 0, 0, 0])
    monkeypatch.setattr("trimtab.checks.write._status", lambda _: status)
    monkeypatch.setattr(os, "chown", lambda _, user, group: given.append((user, group)))
    write_text(path, "a: 2\n")
    assert given == [(4321, 4322)]

    def refuse(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "chown", refuse)
    with pytest.raises(InputError, match="another user's"):
        write_text(path, "a: 3\n")
    assert path.read_text() == "a: 2\n"
    assert os.listdir(tmp_path) == ["a.yaml"]


def test_a_file_that_may_only_be_read_is_not_replaced(tmp_path, monkeypatch):
    path = tmp_path / "a.yaml"
    path.write_text("a: 1\n")
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(PermissionError):
        write_text(path, "a: 2\n")
    assert path.read_text() == "a: 1\n"


def test_a_difference_has_the_lines_of_editors_and_a_name_in_one_line():
    told = difference("a\n+b", "a: 'x\x0cy\u2028z'\n", "a: 'x\x0cy\u2028w'\n")
    assert told.count("\n") == 5
    assert "--- a\\n+b (as it is)\n" in told
