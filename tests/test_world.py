import pytest

from tests.for_each import for_each
from trimtab.errors import InputError
from trimtab.world import checked_ranks, group_of, launched_processes, no_group, out_of_step


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


@for_each("ranks", ["ALONE", "none", 0, None, ["a"]])
def test_what_names_no_ranks_is_refused(ranks):
    with pytest.raises(InputError, match=r"Guard: ranks: names no ranks"):
        checked_ranks(ranks, part="Guard")
    assert [checked_ranks(each, part="Guard") for each in ("all", "alone")] == ["all", "alone"]


def test_lightning_is_told_to_count_its_devices():
    assert "`devices=2`" in str(no_group("guard"))


def test_ranks_in_different_calls_are_named():
    said = str(out_of_step(["Guard.judge", "accumulate_batches"]))
    assert "rank 0 in Guard.judge, rank 1 in accumulate_batches" in said
