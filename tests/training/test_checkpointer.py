import threading

import pytest

from tests.training.small_line import small_line
from trimtab.checkpoint.healthy import is_marked
from trimtab.checkpoint.store import CheckpointStore
from trimtab.errors import DiskFull


def test_the_same_state_is_saved_once(tmp_path, monkeypatch):
    changes = {"length": "4 steps", "evaluate.every": "4 steps", "checkpoint.every": "2 steps"}
    line = small_line(tmp_path, **changes)
    saved = counted_saves(monkeypatch)
    line.train()
    assert saved == [2, 4]


def counted_saves(monkeypatch):
    steps, write = [], CheckpointStore.write

    def counted(self, contents):
        steps.append(contents.step)
        return write(self, contents)

    monkeypatch.setattr(CheckpointStore, "write", counted)
    return steps


def full_disk(monkeypatch, *, at):
    """Saves of these steps find no room."""
    tried, write = [], CheckpointStore.write

    def may_fail(self, contents):
        tried.append(contents.step)
        if contents.step in at:
            raise DiskFull("not enough disk space")
        return write(self, contents)

    monkeypatch.setattr(CheckpointStore, "write", may_fail)
    return tried


EACH_STEP = {"checkpoint.every": "1 steps", "checkpoint.keep": 50, "evaluate.every": "50 steps"}


@pytest.mark.slow
def test_a_full_disk_stops_the_training_only_at_the_third_try(tmp_path, monkeypatch):
    line = small_line(tmp_path, **EACH_STEP)
    tried = full_disk(monkeypatch, at={3, 4, 5, 6})
    with pytest.raises(DiskFull):
        line.train()
    assert tried == [1, 2, 3, 4, 5]
    assert line.saved_steps() == [1, 2]
    told = [(each["code"], each["severity"]) for each in line.log("findings")]
    assert told == [("K907", "warning")] * 2
    assert len(line.log("metrics")) in (5, 6)  # met at the latest where the next one begins


@pytest.mark.slow
def test_room_found_again_begins_the_count_anew(tmp_path, monkeypatch):
    line = small_line(tmp_path, **EACH_STEP, length="9 steps")
    full_disk(monkeypatch, at={2, 3, 5, 6})
    assert line.train().step == 9
    assert line.saved_steps() == [1, 4, 7, 8, 9]


@pytest.mark.slow
def test_the_last_save_of_a_run_must_find_room(tmp_path, monkeypatch):
    line = small_line(tmp_path, **EACH_STEP, length="4 steps")
    full_disk(monkeypatch, at={4})
    with pytest.raises(DiskFull):
        line.train()
    assert line.saved_steps() == [1, 2, 3]


@pytest.mark.slow
def test_a_save_before_a_stop_must_find_room(tmp_path, monkeypatch):
    line = small_line(tmp_path, **EACH_STEP)
    full_disk(monkeypatch, at={3})
    line.told.watch = lambda step: step == 3 and setattr(line.recorder, "must_stop", True)
    with pytest.raises(DiskFull):
        line.train()


@pytest.mark.slow
def test_training_goes_on_while_a_checkpoint_is_written(tmp_path, monkeypatch):
    line = small_line(
        tmp_path, **{"length": "6 steps", "checkpoint.every": "2 steps", "evaluate.every": "50 steps"}
    )
    may_go_on, write, at_begin = threading.Event(), CheckpointStore.write, []

    def slow(self, contents):
        assert may_go_on.wait(60)
        at_begin.append({name: each.clone() for name, each in contents.model.items()})
        return write(self, contents)

    monkeypatch.setattr(CheckpointStore, "write", slow)
    line.told.watch = lambda step: step == 4 and may_go_on.set()  # the second save waits for the first
    line.train()
    assert line.saved_steps() == [2, 4, 6]
    assert line.recorder.store.at(2).load_state().step == 2
    stored = line.recorder.store.at(2).load_model()
    assert all((stored[name] == at_begin[0][name]).all() for name in stored)


@pytest.mark.slow
def test_a_checkpoint_is_healthy_once_so_many_steps_were_taken_after_it(tmp_path):
    line = small_line(tmp_path, **EACH_STEP, length="9 steps", **{"guard.healthy_after": 4})
    line.train()
    healthy = [each for each in line.saved_steps() if marked(line, each)]
    assert healthy == [1, 2, 3, 4, 5]
    assert line.recorder.store.healthy_before(9).step == 5
    assert line.recorder.store.healthy_before(3).step == 3


def marked(line, step):
    checkpoint = line.recorder.store.at(step)
    return is_marked(checkpoint.folder, checkpoint.manifest)


@pytest.mark.slow
def test_the_healthy_one_is_kept_though_newer_ones_would_push_it_out(tmp_path):
    changes = {**EACH_STEP, "checkpoint.keep": 2, "guard.healthy_after": 5}
    line = small_line(tmp_path, **changes, length="12 steps")
    line.train()
    assert line.recorder.store.healthy_before(12).step <= 7
    assert line.saved_steps()[-2:] == [11, 12]
