import errno
import gc
import gzip
import hashlib
import lzma
import multiprocessing
import os
import pickle
import tempfile
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from tests.children import run_in_child
from tests.forking import ended, forked, needs_threads_counted
from trimtab.data import lines as lines_module
from trimtab.data.lines import open_lines, refuse_long_lines
from trimtab.errors import LONGEST_LINE_BYTES, DiskFull, InputError

TEXTS = st.lists(st.sampled_from([b"a", b"\n", b"\r", b"bc", b"\x00", b"\xff", b"\x85"]), max_size=30).map(
    b"".join
)
PACKINGS = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress, ".zst": zstandard.compress}


def split(text):
    """The slow twin: what lines are, in one expression."""
    return [line.removesuffix(b"\r") for line in text.removesuffix(b"\n").split(b"\n")] if text else []


@given(TEXTS, st.sampled_from(sorted(PACKINGS)))
def test_lines_are_those_of_the_slow_twin_however_the_file_is_packed(text, suffix):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"text{suffix}"
        path.write_bytes(PACKINGS[suffix](text))
        lines = open_lines(path, cache=Path(folder) / "cache")
        assert list(lines) == split(text)
        assert len(lines) == len(split(text))
        assert lines[:] == split(text)
        assert lines.fingerprint == hashlib.sha256(text).hexdigest()
        assert lines.path == path


def test_a_line_outside_is_an_index_error(tmp_path):
    (tmp_path / "text").write_bytes(b"one\ntwo")
    lines = open_lines(tmp_path / "text", cache=tmp_path / "cache")
    for number in (-1, 2):
        with pytest.raises(IndexError):
            lines[number]
    assert lines.start(1) == 4


@pytest.mark.parametrize("suffix", sorted(PACKINGS))
def test_the_second_opening_reads_only_the_index(tmp_path, monkeypatch, suffix):
    path = tmp_path / f"text{suffix}"
    path.write_bytes(PACKINGS[suffix](b"one\ntwo\n"))
    open_lines(path, cache=tmp_path / "cache")

    def refuse(*args, **named):
        raise AssertionError("built again")

    monkeypatch.setattr(lines_module, "_build", refuse)
    assert list(open_lines(path, cache=tmp_path / "cache")) == [b"one", b"two"]


def test_a_file_written_anew_under_its_name_is_noticed_even_with_its_old_size_and_time(tmp_path):
    path, cache = tmp_path / "text", tmp_path / "cache"
    # The change is out of sight of both ends of the file.
    middle = 1 << 17
    path.write_bytes(b"\n" * middle + b"a\nb" + b"\n" * middle)
    before, old = open_lines(path, cache=cache), path.stat()
    path.write_bytes(b"\n" * middle + b"ab\n" + b"\n" * middle)
    os.utime(path, ns=(old.st_atime_ns, old.st_mtime_ns))
    after = open_lines(path, cache=cache)
    assert after[middle] == b"ab"
    assert after.fingerprint != before.fingerprint


def test_a_damaged_index_is_made_again(tmp_path):
    (tmp_path / "text").write_bytes(b"one\ntwo\n")
    open_lines(tmp_path / "text", cache=tmp_path / "cache")
    (index,) = (tmp_path / "cache").iterdir()
    index.write_bytes(index.read_bytes()[:-8])
    assert list(open_lines(tmp_path / "text", cache=tmp_path / "cache")) == [b"one", b"two"]


def test_unpacked_text_that_was_lost_from_the_cache_is_unpacked_again(tmp_path):
    (tmp_path / "text.gz").write_bytes(gzip.compress(b"one\ntwo\n"))
    open_lines(tmp_path / "text.gz", cache=tmp_path / "cache")
    (text,) = (tmp_path / "cache").glob("*.txt")
    text.unlink()
    assert list(open_lines(tmp_path / "text.gz", cache=tmp_path / "cache")) == [b"one", b"two"]


@pytest.mark.parametrize("suffix", [".gz", ".xz"])
def test_a_damaged_file_leaves_nothing_in_the_cache(tmp_path, suffix):
    packed = PACKINGS[suffix](b"some text to pack\n" * 1000)
    (tmp_path / f"text{suffix}").write_bytes(packed[:-10])
    with pytest.raises(InputError, match="cut short"):
        open_lines(tmp_path / f"text{suffix}", cache=tmp_path / "cache")
    assert os.listdir(tmp_path / "cache") == []


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        open_lines(tmp_path / "text", cache=tmp_path / "cache")


def test_a_full_disk_is_no_room_and_names_the_cache(tmp_path, monkeypatch):
    def full(file, blocks):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(lines_module, "write_index", full)
    (tmp_path / "text").write_bytes(b"one\n")
    with pytest.raises(DiskFull, match=str(tmp_path / "cache")):
        open_lines(tmp_path / "text", cache=tmp_path / "cache")
    assert os.listdir(tmp_path / "cache") == []


def test_where_the_cache_cannot_be_written_a_temporary_folder_serves(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "cache").write_text("a file in the way")
    (tmp_path / "text.gz").write_bytes(gzip.compress(b"one\ntwo\n"))
    assert list(open_lines(tmp_path / "text.gz", cache=tmp_path / "cache")) == [b"one", b"two"]


def test_a_file_that_grows_while_it_is_read_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "text"
    path.write_bytes(b"one\n")
    build = lines_module._build

    def build_and_grow(file, **named):
        build(file, **named)
        path.write_bytes(b"one\ntwo\n")

    monkeypatch.setattr(lines_module, "_build", build_and_grow)
    with pytest.raises(InputError, match="changed while it was read"):
        open_lines(path, cache=tmp_path / "cache")
    assert os.listdir(tmp_path / "cache") == []


def test_pickled_lines_hold_names_and_open_again_when_they_are_read(tmp_path):
    (tmp_path / "text").write_bytes(b"".join(b"%d\n" % number for number in range(10_000)))
    lines = open_lines(tmp_path / "text", cache=tmp_path / "cache")
    pickled = pickle.dumps(lines)
    assert len(pickled) < 1000
    again = pickle.loads(pickled)
    assert len(again) == 10_000
    assert again[9_999] == b"9999"
    assert again.fingerprint == lines.fingerprint


def test_pickled_lines_notice_that_the_file_was_replaced(tmp_path):
    (tmp_path / "text").write_bytes(b"one\ntwo\n")
    pickled = pickle.dumps(open_lines(tmp_path / "text", cache=tmp_path / "cache"))
    (tmp_path / "text").write_bytes(b"one\ntwo\nthree\n")
    with pytest.raises(InputError, match="changed while it was in use"):
        len(pickle.loads(pickled))


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".zst"])
def test_runs_that_unpack_the_same_file_at_once_do_not_disturb_each_other(tmp_path, suffix):
    path = tmp_path / f"text{suffix}"
    path.write_bytes(PACKINGS[suffix](b"one\ntwo\n"))
    first = open_lines(path, cache=tmp_path / "cache")
    pickled = pickle.dumps(first)
    for index in (tmp_path / "cache").glob("*.npy"):
        index.unlink()  # as another run that began when there was none yet sees it
    second = open_lines(path, cache=tmp_path / "cache")
    assert list(second) == list(first) == list(pickle.loads(pickled)) == [b"one", b"two"]


def shrink(path):
    os.truncate(path, path.stat().st_size // 2)


def write_over(path):
    with open(path, "r+b") as file:
        file.write(b"eno\n")


def grow(path):
    with open(path, "ab") as file:
        file.write(b"four\n")


@pytest.mark.parametrize("change", [shrink, write_over, grow])
def test_a_file_that_changes_while_it_is_in_use_is_told_at_the_next_line(tmp_path, change):
    path = tmp_path / "text"
    path.write_bytes(b"one\ntwo\nthree\n" * 1000)
    lines = open_lines(path, cache=tmp_path / "cache")
    assert lines[2999] == b"three"
    change(path)
    for number in (0, 2999):
        with pytest.raises(InputError, match="changed while it was in use"):
            lines[number]


def test_a_file_that_is_deleted_or_replaced_while_it_is_in_use_is_read_as_it_was(tmp_path):
    path = tmp_path / "text"
    path.write_bytes(b"one\ntwo\n")
    lines = open_lines(path, cache=tmp_path / "cache")
    path.unlink()
    assert list(lines) == [b"one", b"two"]
    path.write_bytes(b"another\n")
    assert list(lines) == [b"one", b"two"]


def test_a_disk_that_fails_while_it_is_read_is_told(tmp_path, monkeypatch):
    (tmp_path / "text").write_bytes(b"one\ntwo\n")
    lines = open_lines(tmp_path / "text", cache=tmp_path / "cache")

    def fail(*_):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "pread", fail)
    with pytest.raises(InputError, match="Input/output error"):
        lines[1]


def test_how_long_lines_are_is_known_without_reading_them(tmp_path, monkeypatch):
    (tmp_path / "text").write_bytes(b"one\n\n" + b"/" * 100 + b"\nthree")
    lines = open_lines(tmp_path / "text", cache=tmp_path / "cache")
    monkeypatch.delattr(os, "pread")
    assert [lines.num_bytes(number) for number in range(4)] == [3, 0, 100, 5]
    assert lines.longer_than(4).tolist() == [2, 3]
    assert lines.longer_than(100).tolist() == []


def test_lines_that_are_let_go_close_their_files(tmp_path):
    (tmp_path / "text").write_bytes(b"one\n")
    before = len(os.listdir("/proc/self/fd")) if os.path.exists("/proc/self/fd") else 0
    for _ in range(20):
        open_lines(tmp_path / "text", cache=tmp_path / "cache")
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) <= before + 2 if before else True


@pytest.mark.slow
def test_workers_that_are_started_afresh_read_the_same_lines(tmp_path):
    (tmp_path / "text.xz").write_bytes(lzma.compress(b"one\ntwo\nthree\n"))
    lines = open_lines(tmp_path / "text.xz", cache=tmp_path / "cache")
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        assert pool.map(lines.__getitem__, [2, 0, 1]) == [b"three", b"one", b"two"]


@needs_threads_counted
def test_a_fork_reads_the_lines_of_the_open_files(tmp_path):
    (tmp_path / "text.xz").write_bytes(lzma.compress(b"one\ntwo\nthree\n"))

    def open_and_fork() -> None:
        lines = open_lines(tmp_path / "text.xz", cache=tmp_path / "cache")

        def read() -> None:
            for _ in range(200):
                assert [lines[2], lines[0], lines[1]] == [b"three", b"one", b"two"]

        forks = [forked(read) for _ in range(2)]
        read()
        assert [ended(fork) for fork in forks] == [0, 0]

    assert run_in_child(open_and_fork) == 0


@given(TEXTS, st.data(), st.sampled_from([1, 4, 1 << 20]), st.sampled_from([0, 2, 1 << 15]))
def test_several_lines_at_once_are_those_that_are_read_one_by_one(text, data, block, gap):
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines_module, "BLOCK_BYTES", block)
        patch.setattr(lines_module, "GAP_BYTES", gap)
        (Path(folder) / "text").write_bytes(text)
        lines = open_lines(Path(folder) / "text", cache=Path(folder) / "cache")
        numbers = data.draw(st.lists(st.integers(0, len(lines) - 1))) if len(lines) else []
        assert list(lines.several(numbers)) == [lines[number] for number in numbers]
        assert lines[::-2] == split(text)[::-2]


def test_several_lines_at_once_are_a_read_or_two_of_the_file(tmp_path, monkeypatch):
    (tmp_path / "text").write_bytes(b"a line of some words\n" * 20_000)
    lines, reads = open_lines(tmp_path / "text", cache=tmp_path / "cache"), []
    healthy = os.pread
    monkeypatch.setattr(
        os, "pread", lambda file, size, start: reads.append(size) or healthy(file, size, start)
    )
    assert len(set(lines.several(range(0, 20_000, 3)))) == 1
    assert 0 < len(reads) <= 2


@pytest.mark.parametrize("number", [-1, 2])
def test_of_several_lines_one_outside_is_an_index_error(tmp_path, number):
    (tmp_path / "text").write_bytes(b"one\ntwo")
    lines = open_lines(tmp_path / "text", cache=tmp_path / "cache")
    with pytest.raises(IndexError, match=f"line {number} of 2"):
        list(lines.several([0, number]))


def test_lines_that_are_too_long_to_translate_are_refused_unread(tmp_path):
    path = tmp_path / "text"
    path.write_bytes(b"a\n" + b"b" * LONGEST_LINE_BYTES + b"\n" + b"c" * (LONGEST_LINE_BYTES + 1) + b"\n")
    lines = open_lines(path, cache=tmp_path)
    with pytest.raises(InputError, match="x: line 3 is too long") as caught:
        refuse_long_lines(lines, name="x")
    assert "1,000,001 bytes" in str(caught.value)
