import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.checkpoint.retention import delete, discard, surplus
from trimtab.finding import Finding

steps_and_best = st.lists(st.integers(0, 50), unique=True).map(sorted)


@given(steps_and_best, st.integers(1, 5), st.none() | st.integers(0, 50))
def test_the_newest_and_the_best_stay_and_all_others_go(steps: list[int], keep: int, best: int | None):
    removed = surplus(steps, keep=keep, best=best)
    stay = [step for step in steps if step not in removed]
    assert stay[-keep:] == steps[-keep:]
    assert (best in stay) == (best in steps)
    assert len(stay) <= keep + 1


def test_a_discarded_folder_is_renamed_before_anything_in_it_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "step-00000001").mkdir()
    (tmp_path / "step-00000001" / "file").touch()
    seen: list[list[str]] = []
    unlink = os.unlink

    def noting(*args: object, **kwargs: object) -> None:
        seen.append(os.listdir(tmp_path))
        unlink(*args, **kwargs)

    monkeypatch.setattr(os, "unlink", noting)
    discard(tmp_path / "step-00000001", tell=[].append)
    ((name,),) = seen
    assert name.startswith(".trash-step-00000001-")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("call", ["rename", "unlink"])
def test_a_removal_that_fails_is_told_and_not_raised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
):
    (tmp_path / "step-00000001").mkdir()
    (tmp_path / "step-00000001" / "file").touch()
    told: list[Finding] = []
    with monkeypatch.context() as patch:
        patch.setattr(os, call, refuse)
        discard(tmp_path / "step-00000001", tell=told.append)
    (finding,) = told
    assert finding.name == "leftover-not-removed"
    assert "could not be removed: Operation not permitted" in finding.message
    assert Path(finding.where).exists()


def refuse(*_: object, **__: object) -> None:
    raise OSError(1, "Operation not permitted")


def test_what_is_gone_already_is_nothing_to_tell(tmp_path: Path):
    told: list[Finding] = []
    delete(tmp_path / "gone", tell=told.append)
    assert told == []
