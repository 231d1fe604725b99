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


@given(steps_and_best, st.integers(1, 3), st.none() | st.integers(0, 50), st.integers(0, 30), st.data())
def test_the_newest_healthy_one_stays_and_with_it_what_can_follow_it(
    steps: list[int], keep: int, best: int | None, settling: int, data: st.DataObject
):
    healthy = data.draw(st.none() | st.sampled_from(steps or [None]))
    removed = surplus(steps, keep=keep, best=best, healthy=healthy, settling=settling)
    stay = [step for step in steps if step not in removed]
    assert stay[-keep:] == steps[-keep:]
    assert {best, healthy} & {*steps} <= {*stay}
    assert len(stay) <= keep + 4
    # Nothing that could be marked now is newer than all that stays and could be.
    markable = [step for step in steps if steps[-1] - step >= settling]
    if markable and (healthy is None or markable[-1] > healthy):
        assert markable[-1] in stay


@given(
    st.lists(st.integers(1, 40), min_size=25, max_size=80), st.integers(1, 3), st.integers(1, 120), st.data()
)
def test_however_often_is_saved_a_run_that_stays_well_soon_has_a_healthy_checkpoint(
    gaps: list[int], keep: int, settling: int, data: st.DataObject
):
    """Marks as the loop does: each checkpoint that is there once the run is far enough past it, some a save late.

    From one step on: with none nothing is waited for, as where a run may not go back and needs no healthy one.
    """
    steps: list[int] = []
    healthy: int | None = None
    now = 0
    for gap in gaps:
        now += gap
        ripe = [step for step in steps if now - step >= settling and step > (healthy or 0)]
        steps.append(now)
        late = data.draw(st.booleans())
        healthy = max([*ripe, healthy or 0]) or None if not late else healthy
        removed = surplus(steps, keep=keep, best=None, healthy=healthy, settling=settling)
        steps = [step for step in steps if step not in removed]
        assert healthy is None or healthy in steps
        healthy = max([*{*ripe} & {*steps}, healthy or 0]) or None
        if now > 2 * settling + 3 * max(gaps) + gaps[0]:
            assert healthy is not None
            assert now - healthy <= 2 * settling + 3 * max(gaps)


@given(steps_and_best, st.integers(1, 5), st.none() | st.integers(0, 50))
def test_where_nothing_is_marked_and_nothing_settles_it_is_as_without(
    steps: list[int], keep: int, best: int | None
):
    assert surplus(steps, keep=keep, best=best) == [step for step in steps[:-keep] if step != best]


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


def test_a_link_is_removed_and_what_it_points_to_stays(tmp_path: Path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "outside")
    told: list[Finding] = []
    delete(tmp_path / "link", tell=told.append)
    assert os.listdir(tmp_path) == ["outside"]
    assert told == []


def test_what_is_gone_already_is_nothing_to_tell(tmp_path: Path):
    told: list[Finding] = []
    delete(tmp_path / "gone", tell=told.append)
    assert told == []
