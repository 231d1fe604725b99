"""Marks, what is kept for them, and branches that a run left: the store as a run that is taken back uses it."""

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.checkpoint.small_run import (
    FINGERPRINTS,
    assert_whole,
    model_at,
    optimizer_at,
    save,
    state_at,
)
from trimtab.checkpoint.find import best_step
from trimtab.checkpoint.healthy import HEALTHY, is_marked
from trimtab.checkpoint.load import open_checkpoint
from trimtab.checkpoint.step_folders import list_abandoned, list_steps, step_name
from trimtab.checkpoint.store import MOST_ABANDONED, CheckpointStore
from trimtab.finding import Finding


@pytest.fixture
def told() -> list[Finding]:
    return []


@pytest.fixture
def store(in_memory: Path, told: list[Finding]) -> CheckpointStore:
    return CheckpointStore(in_memory / "checkpoints", keep=2, settling=20, tell=told.append)


def save_branch(store: CheckpointStore, step: int, branch: int) -> Path:
    """A checkpoint whose weights are those of another branch."""
    model = model_at(step)
    model["scale"] += branch
    return store.save(state_at(step), model=model, optimizer=optimizer_at(step), fingerprints=FINGERPRINTS)


def cut_short(store: CheckpointStore, step: int) -> None:
    path = store.folder / step_name(step) / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-1])


def flip_a_bit(store: CheckpointStore, step: int) -> None:
    path = store.folder / step_name(step) / "model.safetensors"
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))


def test_the_newest_healthy_checkpoint_of_a_step_or_before_is_found(store: CheckpointStore):
    for step in (10, 20, 30):
        save(store, step)
    assert store.healthy_before(30) is None
    assert store.mark_healthy(10)
    assert store.mark_healthy(20)
    assert_whole(store.healthy_before(30))
    assert store.healthy_before(30).step == 20
    assert store.healthy_before(20).step == 20
    assert store.healthy_before(19).step == 10
    assert store.healthy_before(9) is None


def test_a_mark_lasts_beyond_the_process_and_is_not_part_of_the_hashes(store: CheckpointStore):
    save(store, 10)
    assert store.mark_healthy(10)
    assert store.mark_healthy(10)  # once more changes nothing
    told: list[Finding] = []
    again = CheckpointStore(store.folder, keep=2, tell=told.append)
    assert again.latest().step == again.healthy_before(10).step == 10
    assert told == []


def test_what_is_not_there_or_damaged_cannot_be_marked(store: CheckpointStore):
    save(store, 10)
    cut_short(store, 10)
    assert not store.mark_healthy(10)
    assert not store.mark_healthy(11)
    assert not (store.folder / "step-00000010" / HEALTHY).exists()


def test_a_mark_that_cannot_be_written_is_told_and_training_goes_on(
    store: CheckpointStore, told: list[Finding], monkeypatch: pytest.MonkeyPatch
):
    save(store, 10)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        assert not store.mark_healthy(10)
    (finding,) = told
    assert finding.code == "K908"
    assert finding.message.startswith("step-00000010 could not be marked healthy: not enough disk space")
    assert store.mark_healthy(10)


def full(_: int) -> None:
    raise OSError(28, "No space left on device")


def test_a_healthy_checkpoint_that_is_damaged_is_set_aside_and_an_older_one_taken(
    store: CheckpointStore, told: list[Finding]
):
    for step in (10, 20):
        save(store, step)
        store.mark_healthy(step)
    flip_a_bit(store, 20)
    assert store.healthy_before(30).step == 10
    assert [finding.code for finding in told] == ["K901"]


def test_the_healthy_one_outlives_many_saves_and_is_replaced_by_the_next(store: CheckpointStore):
    save(store, 10)
    store.mark_healthy(10)
    for step in range(20, 100, 10):
        save(store, step)
        assert 10 in list_steps(store.folder)
    candidates = [step for step in list_steps(store.folder) if step <= 90 - 20]
    assert candidates[-1] > 10
    store.mark_healthy(candidates[-1])
    save(store, 100)
    assert 10 not in list_steps(store.folder)
    assert store.healthy_before(100).step == candidates[-1]


def test_the_same_weights_saved_again_with_another_state_stay_healthy(store: CheckpointStore):
    save(store, 10)
    store.mark_healthy(10)
    save(store, 10, seconds=99.0)
    assert store.latest().load_state().seconds == 99.0
    assert store.healthy_before(10).step == 10


def test_other_weights_at_the_step_of_a_healthy_checkpoint_are_not_healthy(store: CheckpointStore):
    save(store, 10)
    store.mark_healthy(10)
    save_branch(store, 10, 1)
    assert store.healthy_before(10) is None


def test_what_is_seen_to_be_damaged_does_not_count_as_kept(store: CheckpointStore, told: list[Finding]):
    store.settling = 0
    for step in (1, 2, 3):
        save(store, step)
    cut_short(store, 3)
    save(store, 4)
    assert list_steps(store.folder) == [2, 4]
    assert [finding.code for finding in told] == ["K901"]
    assert_whole(store.at(2))


def test_an_older_healthy_one_goes_only_for_one_of_which_every_byte_is_sound(
    store: CheckpointStore, told: list[Finding]
):
    one = CheckpointStore(store.folder, keep=1, tell=told.append)
    save(one, 1)
    assert one.mark_healthy(1)
    save(one, 2)
    assert one.mark_healthy(2)
    flip_a_bit(one, 2)
    save(one, 3)
    assert list_steps(one.folder) == [1, 3]
    assert [finding.code for finding in told] == ["K901"]
    assert one.mark_healthy(3)
    save(one, 4)
    assert list_steps(one.folder) == [3, 4]


def test_saving_an_earlier_step_sets_the_later_ones_aside_and_the_next_start_goes_on_from_there(
    store: CheckpointStore, told: list[Finding]
):
    for step in (10, 20, 30):
        save(store, step)
    store.mark_healthy(10)
    save(store, 10, seconds=99.0)  # the state after the rewind, with the weights of before
    again = CheckpointStore(store.folder, keep=2, settling=20, tell=told.append)
    assert again.latest().step == again.healthy_before(10).step == 10
    assert [path.name[:23] for path in list_abandoned(store.folder)] == [
        ".abandoned-step-0000002",
        ".abandoned-step-0000003",
    ]
    assert [finding.code for finding in told] == ["K903", "K903"]


def test_of_many_rewinds_only_the_newest_branch_that_was_left_stays(
    store: CheckpointStore, told: list[Finding]
):
    save(store, 10)
    for rewind in range(5):
        for step in (20, 30):
            save_branch(store, step, rewind)
        save(store, 10, seconds=1.0 + rewind)
        left = list_abandoned(store.folder)
        assert len(left) <= MOST_ABANDONED
        branch = [path for path in left if "step-00000030" in path.name]
        model = [open_checkpoint(path, committed_as="step-00000030").load_model() for path in branch]
        assert 30.0 + rewind in [each["scale"].item() for each in model]
    assert [finding.code for finding in told].count("K909") == 4
    assert "step-00000030" in told[-1].message


def test_a_branch_larger_than_the_bound_is_kept_whole(store: CheckpointStore):
    wide = CheckpointStore(store.folder, keep=9, tell=lambda _: None)
    for step in range(10, 80, 10):
        save(wide, step)
    save(wide, 5)
    assert len(list_abandoned(store.folder)) == 7 > MOST_ABANDONED
    save(wide, 6)
    assert len(list_abandoned(store.folder)) == 7


steps_on = st.integers(1, 15)
deeds = st.lists(
    st.tuples(st.sampled_from(["save", "save", "save", "mark", "cut", "flip", "restart", "back"]), steps_on),
    max_size=14,
)


@pytest.mark.slow
@given(deeds, st.integers(1, 3), st.sampled_from([0, 20]))
@example([("save", 1), ("mark", 1), ("back", 1)], 1, 0)
@example([("save", 1), ("mark", 1), ("save", 1), ("mark", 1), ("flip", 1), ("save", 1)], 1, 0)
@example([("save", 1), ("mark", 1), ("back", 1), ("back", 2), ("back", 1)], 1, 0)
def test_whatever_happens_the_last_sound_and_the_last_healthy_checkpoint_stay(
    happened: list[tuple[str, int]], keep: int, settling: int
):
    shm = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    folder = Path(tempfile.mkdtemp(prefix="trimtab-test-", dir=shm))
    try:
        _live(CheckpointStore(folder / "checkpoints", keep=keep, settling=settling, tell=_quiet), happened)
    finally:
        shutil.rmtree(folder)


def _quiet(_: Finding) -> None:
    """What is told is not looked at here."""


def _live(store: CheckpointStore, happened: list[tuple[str, int]]) -> None:
    now, sound, healthy = 0, set[int](), set[int]()
    branch_at: dict[int, int] = {}
    for deed, number in happened:
        there = list_steps(store.folder)
        chosen = there[number % len(there)] if there else None
        if deed == "back" and chosen is not None:
            now = max(0, chosen - 1)
        if deed in ("save", "back"):
            now += number
            save_branch(store, now, number)
            # The same weights once more are as healthy as they were.
            same = {now} if now in healthy and branch_at[now] == number else set[int]()
            branch_at[now] = number
            sound, healthy = ({step for step in each if step < now} for each in (sound, healthy))
            sound, healthy = sound | {now}, healthy | same
        elif deed == "mark" and chosen in sound and store.mark_healthy(chosen):
            healthy.add(chosen)
        elif deed in ("cut", "flip") and chosen in sound:
            cut_short(store, chosen) if deed == "cut" else flip_a_bit(store, chosen)
            sound, healthy = sound - {chosen}, healthy - {chosen}
        elif deed == "restart":
            store = CheckpointStore(store.folder, keep=store.keep, settling=store.settling, tell=_quiet)
        there = set(list_steps(store.folder))
        # What was removed is neither the newest sound one nor the newest healthy one.
        assert not sound or max(sound) in there
        assert not healthy or max(healthy) in there
        sound, healthy = sound & there, healthy & there
    _check_end(store, sound, healthy)


def _check_end(store: CheckpointStore, sound: set[int], healthy: set[int]) -> None:
    found = store.healthy_before(2**62)
    assert (found and found.step) == max(healthy, default=None)
    if sound:
        assert store.latest().step == max(sound)
        newest = open_checkpoint(store.folder / step_name(max(sound)))
        assert is_marked(newest.folder, newest.manifest) == (max(sound) in healthy)


def test_the_best_that_a_healthy_checkpoint_knows_stays_with_it(store: CheckpointStore):
    """A run that goes back has that one as its best again."""
    for step in (10, 20, 30):
        save(store, step, best=10)
    assert store.mark_healthy(30)
    for step in (40, 50, 60, 70):
        save(store, step, best=step)
    healthy = store.healthy_before(69)
    assert healthy is not None
    assert healthy.step == 30
    assert healthy.load_state().best["step"] == 10
    assert 10 in list_steps(store.folder)
    assert 20 not in list_steps(store.folder)


def test_the_best_that_an_heir_knows_stays_with_it_before_it_is_marked(store: CheckpointStore):
    """A checkpoint that waits to be marked may be gone back to later, and then its best must be there."""
    for step, best in ((10, 10), (20, 10), (30, 30), (40, 40)):
        save(store, step, best=best)
    assert store.mark_healthy(20)
    healthy = store.healthy_before(39)
    assert healthy is not None
    assert healthy.step == 20
    known = healthy.load_state().best["step"]
    assert known == 10
    save(store, 20, best=known, seconds=99.0)  # the run goes back
    assert list_steps(store.folder) == [10, 20]
    assert best_step(store.folder) == known
    assert_whole(store.best())


@pytest.mark.slow
@given(
    saves=st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=12),
    keep=st.integers(1, 4),
    settling=st.sampled_from([0, 2, 5]),
)
@example([(True, False), (False, False), (False, False), (True, True), (True, False)], 3, 2)
def test_no_checkpoint_stays_without_the_best_that_it_knows(saves, keep, settling):
    """Each may be the one that the run goes back to, or resumes from where a newer one is damaged."""
    shm = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    folder = Path(tempfile.mkdtemp(prefix="trimtab-test-", dir=shm))
    try:
        store = CheckpointStore(folder / "checkpoints", keep=keep, settling=settling, tell=_quiet)
        best = 1
        for step, (better, marks) in enumerate(saves, start=1):
            best = step if better else best
            if marks:  # as the loop does before a save
                for there in list_steps(store.folder):
                    assert step - there < settling or store.mark_healthy(there)
            save(store, step, best=best)
            there = list_steps(store.folder)
            known = [
                open_checkpoint(store.folder / step_name(each)).load_state().best["step"] for each in there
            ]
            assert {*known} <= {*there}
            assert len(there) <= keep + 4
    finally:
        shutil.rmtree(folder)
