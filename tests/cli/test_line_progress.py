import gzip
import io
import sys
import time
from types import SimpleNamespace

import pytest

from trimtab.cli import line_progress
from trimtab.cli.line_progress import is_shown, lines_of_file, progress_line, shown_progress


@pytest.mark.parametrize(
    ("data", "count"), [(b"", 0), (b"a", 1), (b"a\n", 1), (b"a\n\nb", 3), (b"\r\n\r\n", 2)]
)
def test_lines_of_a_plain_file_are_counted_as_they_are_read(tmp_path, data, count):
    path = tmp_path / "in.txt"
    path.write_bytes(data)
    assert lines_of_file(path) == count


def test_what_cannot_be_counted_before_has_no_number(tmp_path):
    (tmp_path / "in.gz").write_bytes(gzip.compress(b"a\n"))
    assert [lines_of_file(path) for path in (None, tmp_path / "in.gz", tmp_path / "none")] == [None] * 3


def test_a_line_says_how_many_how_fast_and_how_long():
    assert progress_line(1234, total=5000, seconds=30.0) == "1,234 of 5,000 lines  41.1 lines/s  1:32 left"
    assert progress_line(1234, total=None, seconds=30.0) == "1,234 lines  41.1 lines/s"
    assert progress_line(0, total=10, seconds=30.0) == "0 of 10 lines  0.0 lines/s"
    assert progress_line(12, total=10, seconds=10.0).endswith("0:00 left")


@pytest.mark.parametrize(
    ("seconds", "hidden", "shown"), [(30.0, False, True), (3.0, False, False), (30.0, True, False)]
)
def test_only_a_long_translation_shows_progress(monkeypatch, seconds, hidden, shown):
    monkeypatch.setattr(line_progress, "SECONDS_BETWEEN_LOOKS", 0.001)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    times = iter([0.0])
    with shown_progress(lambda: 7, None, hidden=hidden, clock=lambda: next(times, seconds)):
        end = time.monotonic() + (10 if shown else 0.02)
        while not sys.stderr.getvalue() and time.monotonic() < end:
            time.sleep(0.001)
    assert sys.stderr.getvalue().startswith("7 lines") == shown


def test_translations_in_a_terminal_are_their_own_progress(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(isatty=lambda: True))
    assert is_shown(None)
    assert not is_shown(tmp_path / "out")
