import os
from pathlib import Path

import pytest
import torch

from tests.checkpoint.small_run import (
    FINGERPRINTS,
    assert_whole,
    content_of,
    model_at,
    optimizer_at,
    save,
    state_at,
)
from trimtab.checkpoint.step_folders import list_steps
from trimtab.checkpoint.store import CheckpointStore
from trimtab.errors import NothingToResume
from trimtab.finding import Finding


@pytest.fixture
def told() -> list[Finding]:
    return []


@pytest.fixture
def store(in_memory: Path, told: list[Finding]) -> CheckpointStore:
    return CheckpointStore(in_memory / "checkpoints", keep=2, tell=told.append)


def test_what_is_saved_is_found_again_number_for_number(store: CheckpointStore):
    path = save(store, 500)
    assert path == store.folder / "step-00000500"
    assert sorted(os.listdir(path)) == [
        "manifest.json",
        "model.safetensors",
        "optimizer.safetensors",
        "state.json",
    ]
    found = store.latest()
    assert found is not None
    assert_whole(found)
    assert found.load_state() == state_at(500)
    assert found.fingerprints == FINGERPRINTS
    assert found.run == store.folder.parent


def test_where_nothing_was_committed_there_is_nothing(store: CheckpointStore):
    assert store.latest() is None
    assert store.best() is None
    assert store.at(500) is None


def test_a_checkpoint_knows_the_one_it_came_from(store: CheckpointStore):
    save(store, 1)
    first = store.latest().manifest
    assert first.parent is None
    save(store, 2)
    second = store.latest().manifest
    assert (second.parent.step, second.parent.digest) == (1, first.digest)


def test_equal_weights_give_equal_files_whatever_their_order_and_moment(
    store: CheckpointStore, in_memory: Path
):
    model = model_at(3)
    one = save(store, 3)
    other = CheckpointStore(in_memory / "other", keep=1).save(
        state_at(3, seconds=99.0),
        model=dict(reversed(model.items())),
        optimizer=optimizer_at(3),
        fingerprints={"data": "another"},
    )
    assert (one / "model.safetensors").read_bytes() == (other / "model.safetensors").read_bytes()


def test_training_that_goes_on_in_the_same_tensors_does_not_reach_what_is_written(
    store: CheckpointStore, monkeypatch: pytest.MonkeyPatch
):
    model, optimizer = model_at(1), optimizer_at(1)
    sync = os.fsync

    def sync_while_training_goes_on(descriptor: int) -> None:
        for tensor in (*model.values(), *optimizer.values()):
            tensor.zero_()
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", sync_while_training_goes_on)
    store.save(state_at(1), model=model, optimizer=optimizer, fingerprints={})
    assert_whole(store.latest())


def test_the_newest_and_the_best_are_kept(store: CheckpointStore):
    for step, best in ((1, 1), (2, 2), (3, 2), (4, 2), (5, 2)):
        save(store, step, best=best)
    assert list_steps(store.folder) == [2, 4, 5]
    assert store.best().step == 2
    save(store, 6, best=6)
    assert list_steps(store.folder) == [2, 5, 6], "as long as 5 is there, for which 2 is the best"
    save(store, 7, best=6)
    assert list_steps(store.folder) == [6, 7]
    assert store.best().step == 6
    assert content_of(store.folder).keys() == {
        f"step-0000000{step}/{name}"
        for step in (6, 7)
        for name in ("manifest.json", "model.safetensors", "optimizer.safetensors", "state.json")
    }


def test_a_best_step_that_was_never_saved_is_no_best_checkpoint(store: CheckpointStore):
    save(store, 10, best=7)
    assert store.best() is None


def test_saving_a_step_again_with_the_same_content_keeps_the_old_folder(
    store: CheckpointStore, told: list[Finding]
):
    before = os.stat(save(store, 4)).st_ino
    assert os.stat(save(store, 4)).st_ino == before
    assert not told


def test_saving_a_step_again_with_another_state_takes_the_newer_one(
    store: CheckpointStore, told: list[Finding]
):
    save(store, 4)
    save(store, 4, best=4)
    assert store.best().step == 4
    assert os.listdir(store.folder) == ["step-00000004"]
    assert not told


@pytest.mark.parametrize("changed", ["model", "optimizer"])
def test_saving_a_step_again_with_other_tensors_sets_the_old_one_aside(
    store: CheckpointStore, told: list[Finding], changed: str
):
    save(store, 4)
    tensors = {"model": model_at(4), "optimizer": optimizer_at(4)}
    next(iter(tensors[changed].values())).add_(1)
    store.save(state_at(4), fingerprints={}, **tensors)
    (finding,) = told
    assert finding.code == "K903"
    assert Path(finding.where).name.startswith(".abandoned-step-00000004-")
    assert (Path(finding.where) / "manifest.json").exists()
    assert torch.equal(
        torch.cat([each.flatten().float() for each in store.latest().load_model().values()]),
        torch.cat([tensors["model"][name].flatten().float() for name in store.latest().load_model()]),
    )


def test_after_a_rewind_the_branch_that_was_left_is_not_the_newest(
    store: CheckpointStore, told: list[Finding]
):
    for step in (1, 8, 9):
        save(store, step)
    save(store, 5)
    assert store.latest().step == 5
    assert [finding.code for finding in told] == ["K903", "K903"]


def test_newest_is_by_step_and_never_by_time(store: CheckpointStore):
    for step in (2, 1000):
        save(store, step)
    os.utime(store.folder / "step-00001000", (0, 0))
    assert store.latest().step == 1000


def test_a_failing_removal_is_told_and_tried_again_at_the_next_start(
    store: CheckpointStore, told: list[Finding], monkeypatch: pytest.MonkeyPatch
):
    save(store, 1)
    save(store, 2)
    with monkeypatch.context() as patch:
        patch.setattr(os, "unlink", refuse)
        save(store, 3)
    assert [finding.code for finding in told] == ["K904"]
    assert "Input/output error" in told[0].message
    assert store.latest().step == 3
    CheckpointStore(store.folder, keep=2)
    assert sorted(os.listdir(store.folder)) == ["step-00000002", "step-00000003"]


def refuse(*_: object, **__: object) -> None:
    raise OSError(5, "Input/output error")


def test_tensors_that_share_memory_are_a_fault_of_the_caller(store: CheckpointStore):
    weight = torch.zeros(4, 4)
    with pytest.raises(AssertionError, match="share memory"):
        store.save(state_at(1), model={"a": weight, "tied": weight}, optimizer={}, fingerprints={})


def test_a_state_that_json_would_change_is_a_fault_of_the_caller(store: CheckpointStore):
    state = state_at(1)
    state.data = {"dropped": {0: 3}}
    with pytest.raises(AssertionError, match="keys"):
        store.save(state, model={}, optimizer={}, fingerprints={})


def test_all_damaged_means_stop_and_not_start_again_also_at_the_second_try(store: CheckpointStore):
    save(store, 1)
    (store.folder / "step-00000001" / "state.json").write_bytes(b"")
    for _ in range(2):
        with pytest.raises(NothingToResume, match="is sound"):
            CheckpointStore(store.folder, keep=2, tell=lambda _: None).latest()


def test_a_draft_of_a_dead_process_is_removed_when_torn_and_committed_when_whole(in_memory: Path):
    store = CheckpointStore(in_memory / "checkpoints", keep=3)
    for step in (1, 2, 3):
        os.rename(save(store, step), store.folder / f".draft-step-0000000{step}-99-abc")
    (store.folder / ".draft-step-00000003-99-abc" / "state.json").write_bytes(b"{}")
    # A draft that says it is another step than its content is not committed either.
    os.rename(store.folder / ".draft-step-00000001-99-abc", store.folder / ".draft-step-00000007-99-abc")
    again = CheckpointStore(store.folder, keep=3)
    assert os.listdir(store.folder) == ["step-00000002"]
    assert_whole(again.latest())


class Audit:
    """Notes what is synced, and how large it was then, and what is renamed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.events: list[tuple[str, str, int]] = []
        self.sync, self.rename = os.fsync, os.rename
        monkeypatch.setattr(os, "fsync", self.noting_sync)
        monkeypatch.setattr(os, "rename", self.noting_rename)

    def noting_sync(self, descriptor: int) -> None:
        path = os.readlink(f"/proc/self/fd/{descriptor}")
        self.sync(descriptor)
        self.events.append(("sync", path, os.fstat(descriptor).st_size))

    def noting_rename(self, source: Path, target: Path) -> None:
        self.rename(source, target)
        self.events.append(("rename", str(target), 0))


@pytest.fixture
def audit(store: CheckpointStore, monkeypatch: pytest.MonkeyPatch) -> Audit:
    assert store.latest() is None
    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("needs /proc to name what is synced")
    return Audit(monkeypatch)


def test_everything_is_synced_at_its_full_size_before_the_rename_and_the_parent_after(
    store: CheckpointStore, audit: Audit
):
    final = save(store, 1)
    draft = os.path.dirname(audit.events[0][1])
    assert os.path.basename(draft).startswith(f".draft-step-00000001-{os.getpid()}-")
    names = ["model.safetensors", "optimizer.safetensors", "state.json", "manifest.json"]
    assert audit.events[:4] == [("sync", f"{draft}/{name}", (final / name).stat().st_size) for name in names]
    kinds_and_paths = [(kind, path) for kind, path, _ in audit.events[4:]]
    assert kinds_and_paths == [("sync", draft), ("rename", str(final)), ("sync", str(store.folder))]


def test_the_old_checkpoint_goes_only_after_the_new_one_is_on_the_disk(store: CheckpointStore, audit: Audit):
    for step in (1, 2, 3):
        save(store, step)
    renames = [Path(path).name for kind, path, _ in audit.events[-3:] if kind == "rename"]
    assert renames[0] == "step-00000003"
    assert renames[1].startswith(".trash-step-00000001-")
    assert audit.events[-2][:2] == ("sync", str(store.folder))
