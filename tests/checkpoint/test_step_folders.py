import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.checkpoint.step_folders import (
    draft_name,
    ever_committed,
    list_drafts,
    list_steps,
    list_trash,
    set_aside,
    step_name,
)
from trimtab.errors import InputError


@given(st.sets(st.integers(0, 10**18 - 1), max_size=8))
def test_steps_are_read_back_in_their_order(tmp_path_factory, steps: set[int]):
    folder = tmp_path_factory.mktemp("checkpoints")
    for step in steps:
        (folder / step_name(step)).mkdir()
    assert list_steps(folder) == sorted(steps)


def test_a_draft_has_a_name_of_its_own_and_counts_as_nothing_committed(tmp_path: Path):
    first, second = draft_name(5), draft_name(5)
    assert first != second
    (tmp_path / first).mkdir()
    assert list_drafts(tmp_path) == [(tmp_path / first, "step-00000005")]
    assert list_steps(tmp_path) == []
    assert not ever_committed(tmp_path)


def test_what_was_set_aside_was_committed_once_unless_it_is_trash(tmp_path: Path):
    for why, once in (("trash", False), ("corrupt", True), ("abandoned", True)):
        folder = tmp_path / why
        (folder / "step-00000005").mkdir(parents=True)
        assert ever_committed(folder)
        kept = set_aside(folder / "step-00000005", why)
        assert kept.is_dir()
        assert list_steps(folder) == []
        assert ever_committed(folder) is once
        assert list_trash(folder) == ([] if once else [kept])


def test_other_names_mean_nothing(tmp_path: Path):
    for name in (
        "step-5",
        "step-000000005",
        "step-00000005 ",
        ".draft-5",
        "step-0000000x",
        ".trash",
        "corrupt-step-1",
    ):
        (tmp_path / name).mkdir()
    assert list_steps(tmp_path) == []
    assert list_drafts(tmp_path) == []
    assert list_trash(tmp_path) == []
    assert not ever_committed(tmp_path)


def test_a_folder_that_is_not_there_holds_nothing(tmp_path: Path):
    (tmp_path / "file").touch()
    for folder in (tmp_path / "missing", tmp_path / "file"):
        assert list_steps(folder) == []
        assert not ever_committed(folder)


def test_a_folder_that_cannot_be_read_is_not_taken_for_an_empty_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(os, "listdir", fails)
    for look in (list_steps, ever_committed, list_drafts, list_trash):
        with pytest.raises(InputError, match="cannot be read: Input/output error"):
            look(tmp_path)


def fails(_: object) -> None:
    raise OSError(5, "Input/output error")
