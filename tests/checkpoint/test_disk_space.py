import errno
from pathlib import Path

import pytest

from trimtab.checkpoint.disk_space import check_disk_space, failures_reported, in_words
from trimtab.errors import DiskFull, RunFailed


def test_bytes_are_said_in_words():
    assert [in_words(count) for count in (0, 999, 1000, 2_340_000, 5 * 10**9, 7 * 10**15)] == [
        "0 bytes",
        "999 bytes",
        "1.0 kB",
        "2.3 MB",
        "5.0 GB",
        "7000.0 TB",
    ]


def test_enough_room_is_said_nothing_of(tmp_path: Path):
    check_disk_space(tmp_path, 1)
    with pytest.raises(DiskFull):
        check_disk_space(tmp_path, 10**18)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_says_what_was_needed_what_is_free_and_what_to_do(tmp_path: Path, number: int):
    with pytest.raises(DiskFull) as caught, failures_reported("file", folder=tmp_path, needed=1500):
        raise OSError(number, "full")
    lines = str(caught.value).splitlines()
    assert lines[0] == f"not enough disk space for {tmp_path}"
    assert lines[1] == "  needed  1.5 kB"
    assert lines[2].startswith("  free    ")
    assert "--resume" in lines[3]
    assert caught.value.exit_code == 75


def test_what_nobody_counted_is_not_said_and_the_advice_is_the_callers(tmp_path: Path):
    with pytest.raises(DiskFull) as caught, failures_reported("file", folder=tmp_path, fix="buy a disk"):
        raise OSError(errno.ENOSPC, "full")
    lines = str(caught.value).splitlines()
    assert len(lines) == 3
    assert "needed" not in str(caught.value)
    assert lines[2] == "  fix     buy a disk"


def test_a_folder_that_is_gone_has_an_unknown_amount_free(tmp_path: Path):
    with (
        pytest.raises(DiskFull, match="free    unknown"),
        failures_reported("file", folder=tmp_path / "gone"),
    ):
        raise OSError(errno.ENOSPC, "full")


def test_other_failures_say_what_and_where(tmp_path: Path):
    words = r"the recipe cannot be written: Read-only file system   \(/x\)"
    with pytest.raises(RunFailed, match=words), failures_reported("the recipe", folder=tmp_path):
        raise OSError(errno.EROFS, "Read-only file system", "/x")


def test_what_is_no_error_of_the_operating_system_passes(tmp_path: Path):
    with pytest.raises(ZeroDivisionError), failures_reported("file", folder=tmp_path):
        _ = 1 // 0
