import errno
import os

import pytest

from trimtab.checks.check import check
from trimtab.checks.mend_files import mend_files
from trimtab.errors import InputError

BAD = "base_model: x/y   # base\nmicro_batch_size: 2\ndatasets: [{path: a, type: alpaca}]\nlerning_rate: 1.0e-4\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.yaml").write_bytes(("\ufeff" + BAD.replace("\n", "\r\n")).encode())
    return tmp_path


def mended(**options):
    return mend_files("a.yaml", select=["C101"], **options)


def test_what_changes_the_training_is_left_unless_it_is_asked_for(folder):
    (each,) = mended()
    assert (each.done, each.before) == ((), each.after)
    (each,) = mended(changes_training=True)
    assert [diagnosis.finding.code for diagnosis in each.done] == ["C101"]
    wanted = ("\ufeff" + BAD.replace("lerning", "learning").replace("\n", "\r\n")).encode()
    assert (folder / "a.yaml").read_bytes() == wanted
    assert check("a.yaml", select=["C101"]).diagnoses == ()


def test_without_writing_the_file_stays_as_it_is(folder):
    before = (folder / "a.yaml").read_bytes()
    (each,) = mended(changes_training=True, write=False)
    assert "learning_rate" in each.after
    assert (folder / "a.yaml").read_bytes() == before


def test_a_silenced_finding_is_not_mended(folder):
    (folder / "a.yaml").write_text(
        BAD.replace("1.0e-4", "1.0e-4  # trimtab: allow C101 because a script reads it")
    )
    (each,) = mended(changes_training=True)
    assert (each.done, each.left) == ((), ())


def test_a_file_that_may_not_be_written_is_a_problem_and_stays(folder, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("trimtab.checks.mend_files.write_text", refuse)
    (each,) = mended(changes_training=True)
    assert (each.problem.what, each.done, each.after) == ("a.yaml: cannot be written", (), each.before)


def test_what_cannot_be_read_is_passed_over_and_standard_input_refused(folder):
    (folder / "broken.yaml").write_text("a: [\n")
    assert [each.path for each in mend_files(".", select=["C101"], write=False)] == ["a.yaml"]
    with pytest.raises(InputError, match="standard input"):
        mend_files("-")


def test_what_may_not_be_read_and_what_has_no_end_is_left_to_check(folder, monkeypatch):
    def closed(path, *_):
        raise PermissionError(13, "Permission denied")

    (folder / "endless.yaml").symlink_to("/dev/zero")
    assert mend_files("endless.yaml") == []
    monkeypatch.setattr("builtins.open", closed)
    assert mended(changes_training=True) == []


@pytest.mark.parametrize("number", [errno.EROFS, errno.ENAMETOOLONG, errno.ETXTBSY, errno.EBUSY, errno.EIO])
def test_whatever_the_system_refuses_is_a_problem_of_one_file(folder, monkeypatch, number):
    def refuse(*_):
        raise OSError(number, os.strerror(number))

    (folder / "b.yaml").write_text(BAD)
    monkeypatch.setattr(os, "replace", refuse)
    both = mend_files(".", select=["C101"], changes_training=True)
    assert [each.problem.got for each in both] == [os.strerror(number)] * 2
    assert sorted(os.listdir(folder)) == ["a.yaml", "b.yaml"]


def test_a_folder_that_may_not_be_entered_is_left_to_check(folder, monkeypatch):
    look = os.scandir
    (folder / "closed").mkdir()

    def refuse(path):
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied")
        return look(path)

    monkeypatch.setattr(os, "scandir", refuse)
    assert [each.path for each in mend_files(".", select=["C101"], write=False)] == ["a.yaml"]
    assert [(each.path, each.reason) for each in check(".", select=["C101"]).skipped] == [
        ("closed", "cannot be read: Permission denied")
    ]
