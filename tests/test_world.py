import pytest

from trimtab.errors import InputError
from trimtab.world import group_of, launched_processes, no_group


@pytest.mark.parametrize(("text", "expected"), [("", 1), ("2", 2), ("many", 1), ("0", 1)])
def test_the_launcher_says_how_many_processes_there_are(monkeypatch, text, expected):
    monkeypatch.setenv("WORLD_SIZE", text)
    assert launched_processes() == expected


def test_one_process_has_no_group(monkeypatch):
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    assert group_of("all", part="guard") is None


def test_several_processes_without_a_group_are_refused_unless_each_is_alone(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(InputError, match=r"guard: there are several processes"):
        group_of("all", part="guard")
    assert group_of("alone", part="guard") is None
    assert "WORLD_SIZE=2" in str(no_group("guard"))
