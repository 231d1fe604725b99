import pytest

from tests.for_each import for_each
from trimtab.distributed.launched import LaunchedRank, launched, was_started_again
from trimtab.errors import InputError

TORCHRUN = {
    "RANK": "3",
    "WORLD_SIZE": "4",
    "LOCAL_RANK": "1",
    "LOCAL_WORLD_SIZE": "2",
    "MASTER_ADDR": "127.0.0.1",
    "MASTER_PORT": "29500",
    "TORCHELASTIC_USE_AGENT_STORE": "True",
    "TORCHELASTIC_RESTART_COUNT": "2",
}


def test_what_torchrun_says_is_taken():
    mine = launched(TORCHRUN)
    assert mine == LaunchedRank(3, 4, 1, 2, "127.0.0.1", 29500, agent_has_the_store=True, restarts=2)
    assert not mine.one_host
    assert launched(TORCHRUN | {"LOCAL_WORLD_SIZE": "4", "LOCAL_RANK": "3"}).one_host


@for_each("size", [None, "1", "", "two"])
def test_a_process_alone_was_launched_by_nobody(size):
    found = {} if size is None else {"WORLD_SIZE": size, "RANK": "nonsense"}
    assert launched(found) is None


@for_each(
    ("key", "value", "says"),
    [
        ("RANK", None, "is not set"),
        ("RANK", "4", "0 to 3"),
        ("RANK", "-1", "0 to 3"),
        ("RANK", "²", "0 to 3"),
        ("LOCAL_WORLD_SIZE", "0", "1 to 4"),
        ("MASTER_PORT", "99999", "1 to 65535"),
        ("MASTER_PORT", None, "is not set"),
        ("MASTER_ADDR", None, "is not set"),
        ("MASTER_ADDR", " ", "is not set"),
        ("MASTER_ADDR", "no host of this name", "cannot resolve the name"),
        ("MASTER_ADDR", "a" * 300, "cannot resolve the name"),
    ],
)
def test_what_is_missing_or_wrong_is_named_with_what_sets_it(key, value, says):
    found = {name: text for name, text in (TORCHRUN | {key: value}).items() if text is not None}
    with pytest.raises(InputError) as refused:
        launched(found)
    (problem,) = refused.value.problems
    assert problem.what.startswith(f"{key}: ")
    assert says in f"{problem.what} {problem.allowed}"
    assert "torchrun" in problem.fix


def test_everything_that_is_wrong_is_told_at_once():
    with pytest.raises(InputError) as refused:
        launched({"WORLD_SIZE": "2"})
    assert [each.what.split(":")[0] for each in refused.value.problems] == [
        "RANK",
        "MASTER_PORT",
        "MASTER_ADDR",
    ]


@for_each(("count", "again"), [(None, False), ("0", False), ("", False), ("x", False), ("1", True)])
def test_a_process_that_torchrun_has_started_again_knows_it_though_it_is_alone(count, again):
    assert was_started_again({} if count is None else {"TORCHELASTIC_RESTART_COUNT": count}) is again
