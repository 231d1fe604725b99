import errno
import json
import math
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.checkpoint.dying import dies_before_call
from tests.children import start_child, wait
from trimtab.checkpoint import journal as journals
from trimtab.checkpoint.journal import Journal, cut_back, read_journal
from trimtab.errors import InputError
from trimtab.finding import Finding


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "metrics.jsonl"


def test_records_are_read_back_in_order(path: Path):
    with Journal(path) as journal:
        for step in (1, 2, 3):
            journal.write({"step": step, "loss": 1 / step, "text": "zwei\n Zeilen \u2028 ü"})
    assert [record["step"] for record in read_journal(path)] == [1, 2, 3]
    assert next(read_journal(path)) == {"step": 1, "loss": 1.0, "text": "zwei\n Zeilen \u2028 ü"}
    assert path.read_bytes().count(b"\n") == 3


def test_records_are_appended_to_those_of_an_earlier_process(path: Path):
    for step in (1, 2):
        with Journal(path) as journal:
            journal.write({"step": step})
    assert [record["step"] for record in read_journal(path)] == [1, 2]


def test_records_reach_the_file_a_second_later_and_at_each_flush(path: Path):
    clock = Clock()
    journal = Journal(path, clock=clock)
    journal.write({"step": 1})
    assert not path.exists()
    clock.now = 0.9
    journal.write({"step": 2})
    assert not path.exists()
    clock.now = 1.0
    journal.write({"step": 3})
    assert len(list(read_journal(path))) == 3
    journal.write({"step": 4})
    assert len(list(read_journal(path))) == 3
    journal.flush()
    assert len(list(read_journal(path))) == 4
    journal.close()


def test_a_log_that_is_not_there_has_no_records(path: Path):
    assert list(read_journal(path)) == []
    assert cut_back(path, 3) == 0
    assert not path.exists()


def test_numbers_that_are_not_finite_stay_visible_in_valid_json(path: Path):
    with Journal(path) as journal:
        journal.write({"loss": math.nan, "norms": (math.inf, -math.inf, 1.5)})
    record = json.loads(path.read_text(), parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
    assert record == {"loss": "nan", "norms": ["inf", "-inf", 1.5]}
    assert math.isnan(float(record["loss"]))


def test_a_text_that_no_encoding_knows_does_not_stop_the_log(path: Path):
    with Journal(path) as journal:
        journal.write({"text": "half \ud800 pair"})
    assert next(read_journal(path)) == {"text": "half \ud800 pair"}


def test_a_line_cut_off_by_a_kill_is_left_out_and_spoils_no_other(path: Path):
    path.write_bytes(b'{"step": 1}\n{"step": 2, "lo')
    assert [record["step"] for record in read_journal(path)] == [1]
    with Journal(path) as journal:
        journal.write({"step": 2})
    assert [record["step"] for record in read_journal(path)] == [1, 2]


@given(st.binary(max_size=60))
def test_junk_in_a_log_never_raises(tmp_path_factory, content: bytes):
    path = tmp_path_factory.mktemp("journal") / "log"
    path.write_bytes(content + b'\n{"step": 1}\n' + b"[" * 2000 + b'\n{"step": 2}\n')
    assert [record for record in read_journal(path) if "step" in record][-2:] == [{"step": 1}, {"step": 2}]


def test_a_process_that_is_killed_loses_only_what_was_not_flushed(path: Path):
    def work() -> None:
        journal = Journal(path, clock=Clock())
        journal.write({"step": 1})
        journal.flush()
        journal.write({"step": 2})
        os.kill(os.getpid(), signal.SIGKILL)

    assert wait(start_child(work)) == -signal.SIGKILL
    assert list(read_journal(path)) == [{"step": 1}]


class FullDisk:
    """A disk that takes so many more bytes, in small bites."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, room: int) -> None:
        self.room = room
        self._write = os.write
        monkeypatch.setattr(os, "write", self.write)

    def write(self, descriptor: int, data: Any) -> int:
        bite = bytes(data[: min(self.room, 7)])
        if not bite:
            raise OSError(28, "No space left on device")
        self.room -= len(bite)
        return self._write(descriptor, bite)


def test_a_full_disk_is_told_once_and_what_waits_is_written_when_there_is_room(
    path: Path, monkeypatch: pytest.MonkeyPatch
):
    disk = FullDisk(monkeypatch, room=20)
    told: list[Finding] = []
    journal = Journal(path, every_seconds=0.0, tell=told.append)
    for step in range(30):
        journal.write({"step": step})
    assert path.stat().st_size == 20
    assert [finding.code for finding in told] == ["K905"]
    assert "No space left on device; training continues" in told[0].message
    disk.room = 10**6
    journal.write({"step": 30})
    assert [record["step"] for record in read_journal(path)] == list(range(31))
    journal.close()


def test_what_waits_for_room_is_bounded_and_lines_stay_whole(path: Path, monkeypatch: pytest.MonkeyPatch):
    disk = FullDisk(monkeypatch, room=5)
    monkeypatch.setattr(journals, "MAX_PENDING", 200)
    journal = Journal(path, every_seconds=0.0, tell=[].append)
    for step in range(500):
        journal.write({"step": step})
    disk.room = 10**6
    journal.write({"step": 500})
    journal.write({"step": 501})
    steps = [record["step"] for record in read_journal(path)]
    assert steps[:10] == list(range(10))
    assert steps[-1] == 501
    assert len(steps) < 30
    journal.close()


def link_elsewhere(path: Path) -> None:
    path.symlink_to(path.parent / "precious")


def link_to_nothing(path: Path) -> None:
    path.symlink_to(path.parent / "new")


def link_to_a_full_device(path: Path) -> None:
    path.symlink_to("/dev/full")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (link_elsewhere, "it is a link"),
        (link_to_nothing, "it is a link"),
        (link_to_a_full_device, "it is a link"),
        (os.mkfifo, "it is not a plain file"),
        (Path.mkdir, "Is a directory"),
    ],
)
def test_what_is_no_plain_file_is_not_written_into_and_never_stops_the_training(
    tmp_path: Path, make: Callable[[Path], None], words: str
):
    (tmp_path / "precious").write_text("mine")
    make(tmp_path / "log")
    told: list[Finding] = []
    with Journal(tmp_path / "log", every_seconds=0.0, tell=told.append) as journal:
        for step in range(5):
            journal.write({"step": step})
    assert [finding.code for finding in told] == ["K905"]
    assert words in told[0].message
    assert (tmp_path / "precious").read_text() == "mine"
    assert sorted(os.listdir(tmp_path)) == ["log", "precious"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_device_that_is_always_full_never_stops_the_training(path: Path):
    full = os.open("/dev/full", os.O_WRONLY)
    told: list[Finding] = []
    with Journal(path, every_seconds=0.0, tell=told.append) as journal:
        journal.write({"step": 0})
        os.dup2(full, journal._descriptor)
        for step in range(5):
            journal.write({"step": step})
    os.close(full)
    assert [finding.message.partition(": ")[2] for finding in told] == [
        "No space left on device; training continues"
    ]


def test_a_file_that_tells_only_when_it_is_closed_that_it_was_not_written_never_stops_the_training(
    path: Path, monkeypatch: pytest.MonkeyPatch
):
    def close(descriptor: int) -> None:
        closed(descriptor)
        raise OSError(5, "Input/output error")

    told: list[Finding] = []
    journal = Journal(path, tell=told.append)
    journal.write({"step": 0})
    journal.flush()
    closed = os.close
    monkeypatch.setattr(os, "close", close)
    journal.close()
    assert [finding.code for finding in told] == ["K905"]


def test_a_log_that_cannot_be_opened_never_stops_the_training(tmp_path: Path):
    told: list[Finding] = []
    with Journal(tmp_path / "missing" / "log", every_seconds=0.0, tell=told.append) as journal:
        journal.write({"step": 1})
        (tmp_path / "missing").mkdir()
        journal.write({"step": 2})
    assert len(told) == 1
    assert len(list(read_journal(tmp_path / "missing" / "log"))) == 2


def test_cutting_back_keeps_what_the_checkpoint_has_seen(path: Path):
    path.write_bytes(
        b'{"step": 1}\n{"note": "no step"}\n{"step": 3}\nnot json\n{"step": 4}\n{"step": 2}\n{"step": "x"}\n{"step": 3}'
    )
    assert cut_back(path, 3) == 3
    assert path.read_bytes() == b'{"step": 1}\n{"note": "no step"}\n{"step": 3}\n{"step": 2}\n{"step": "x"}\n'
    before = path.stat().st_ino
    assert cut_back(path, 3) == 0
    assert path.stat().st_ino == before


def test_cutting_back_may_be_about_the_records_of_one_kind(path: Path):
    stays = b'{"step": 1, "old": true}\n{"step": 3}\n{"step": 3, "old": false}\n'
    path.write_bytes(stays + b'{"step": 3, "old": true}\ntorn')
    assert cut_back(path, 2, only="old") == 2
    assert path.read_bytes() == stays


@given(st.lists(st.integers(0, 20), max_size=20), st.integers(-1, 21))
def test_cutting_back_is_a_filter_by_step(tmp_path_factory, steps: list[int], last: int):
    path = tmp_path_factory.mktemp("journal") / "log"
    with Journal(path) as journal:
        for step in steps:
            journal.write({"step": step})
    cut = cut_back(path, last)
    kept = [record["step"] for record in read_journal(path)]
    assert kept == [step for step in steps if step <= last]
    assert cut == len(steps) - len(kept)


def test_a_kill_while_cutting_back_leaves_the_old_log_or_the_new_one(in_memory: Path):
    path = in_memory / "log"
    old = b'{"step": 1}\n{"step": 2}\n'
    seen = set()
    for number in range(20):
        path.write_bytes(old)
        died = dies_before_call(number, lambda: cut_back(path, 1) and None)
        seen.add(path.read_bytes())
        if not died:
            break
    assert seen == {old, b'{"step": 1}\n'}


@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO])
def test_a_log_that_cannot_be_read_is_told_and_not_taken_for_an_empty_one(
    path: Path, monkeypatch: pytest.MonkeyPatch, number: int
):
    def refuse(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number), str(path))

    path.write_bytes(b'{"step": 1}\n')
    monkeypatch.setattr("builtins.open", refuse)
    monkeypatch.setattr(Path, "read_bytes", refuse)
    for read in (lambda: list(read_journal(path)), lambda: cut_back(path, 0)):
        with pytest.raises(InputError, match=os.strerror(number)):
            read()


def test_a_rank_that_does_not_write_makes_no_file(path: Path):
    journal = Journal(path, every_seconds=0.0, writes=False)
    journal.write({"step": 1})
    journal.close()
    assert not path.exists()
