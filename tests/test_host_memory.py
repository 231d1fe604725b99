import pytest

from trimtab import host_memory as module
from trimtab.host_memory import HostMemory, host_memory

MEMINFO = "MemTotal:       8 kB\nMemFree:        1 kB\nMemAvailable:   4 kB\n"


@pytest.fixture
def said(tmp_path, monkeypatch):
    """Puts files in the place of those of the system."""
    monkeypatch.setattr(module, "MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(module, "GROUP", tmp_path)

    def write(meminfo=MEMINFO, **group):
        (tmp_path / "meminfo").write_text(meminfo)
        for name, text in group.items():
            (tmp_path / f"memory.{name}").write_text(text)

    return write


def test_this_machine_has_memory_and_not_more_of_it_is_free():
    total, free = host_memory()
    assert (total or 2**30) > 2**20
    assert 0 <= (free or 0) <= (total or 2**60)


@pytest.mark.parametrize(
    ("group", "found"),
    [
        ({}, HostMemory(8192, 4096)),
        ({"max": "max\n", "current": "1\n"}, HostMemory(8192, 4096)),
        ({"max": "6000\n", "current": "1000\n"}, HostMemory(6000, 4096)),
        ({"max": "6000\n", "current": "5000\n"}, HostMemory(6000, 1000)),
        ({"max": "6000\n", "current": "7000\n"}, HostMemory(6000, 0)),
        ({"max": "9000\n"}, HostMemory(8192, 4096)),
    ],
)
def test_a_container_may_take_less_than_its_host_has(said, group, found):
    said(**group)
    assert host_memory() == found


@pytest.mark.parametrize("meminfo", ["", "MemTotal: many kB\n", "\ufeffMemTotal"])
def test_a_system_that_does_not_say_what_is_free_is_no_error(said, meminfo):
    said(meminfo)
    assert host_memory().free is None
