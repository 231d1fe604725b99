import os

import pytest

from trimtab.data.input_file import open_input
from trimtab.errors import InputError


def test_a_file_is_opened_for_reading_bytes(tmp_path):
    (tmp_path / "train.en").write_bytes(b"a\r\n")
    with open_input(tmp_path / "train.en") as file:
        assert file.read() == b"a\r\n"


def test_a_missing_file_names_those_that_come_close(tmp_path):
    (tmp_path / "train.en").touch()
    (tmp_path / "other").touch()
    with pytest.raises(InputError, match=r"trian\.en: no such file") as caught:
        open_input(tmp_path / "trian.en")
    assert caught.value.problems[0].fix == "did you mean train.en?"


def test_a_missing_file_without_likeness_lists_the_folder(tmp_path):
    for number in range(10):
        (tmp_path / f"{number}{number}").touch()
    with pytest.raises(InputError) as caught:
        open_input(tmp_path / "corpus")
    held = f"{tmp_path} holds 00, 11, 22, 33, 44, 55, 66, 77 and 2 more"
    assert caught.value.problems[0].fix == f"choose an existing file: {held}"


def test_a_missing_folder_is_named_with_its_likeness(tmp_path):
    (tmp_path / "prose").mkdir()
    with pytest.raises(InputError, match=r"no folder .*/porse") as caught:
        open_input(tmp_path / "porse" / "deep" / "train.en")
    assert "did you mean prose" in caught.value.problems[0].fix


def test_a_file_taken_for_a_folder_is_a_missing_file(tmp_path):
    (tmp_path / "train.en").touch()
    with pytest.raises(InputError, match="no such file"):
        open_input(tmp_path / "train.en" / "more")


def test_a_folder_is_not_a_file(tmp_path):
    (tmp_path / "prose").mkdir()
    (tmp_path / "prose" / "train.en").touch()
    with pytest.raises(InputError, match="not a file") as caught:
        open_input(tmp_path / "prose")
    assert "train.en" in caught.value.problems[0].fix


def test_a_pipe_is_refused_without_waiting_for_a_writer(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="a pipe or a device"):
        open_input(tmp_path / "pipe")


def test_a_file_without_permission_is_named(tmp_path, monkeypatch):
    def refuse(path, flags):
        raise PermissionError(13, "Permission denied", path)

    # The tests may run as root, who is refused nothing.
    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(InputError, match="cannot be read\n  got     no permission"):
        open_input(tmp_path / "secret")


@pytest.mark.parametrize("name", ["x" * 5000, "nul\0nul"])
def test_an_impossible_name_is_an_input_error(tmp_path, name):
    with pytest.raises(InputError):
        open_input(tmp_path / name)


def test_a_broken_link_is_told_by_what_it_leads_to_and_not_proposed_again(tmp_path):
    (tmp_path / "train.en").symlink_to("gone.en")
    with pytest.raises(InputError, match=r"train\.en: a broken link") as caught:
        open_input(tmp_path / "train.en")
    (problem,) = caught.value.problems
    assert "gone.en" in problem.got
    assert "did you mean" not in problem.fix
