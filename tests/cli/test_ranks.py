import signal

import pytest
import typer

from trimtab.cli import ranks as ranks_of_a_command
from trimtab.cli.ranks import ranks_of_launcher, report_once
from trimtab.distributed import ONE_RANK, torch_ranks
from trimtab.distributed import launched as launching
from trimtab.distributed.launched import LaunchedRank
from trimtab.errors import InputError, Problem, RankLost


class Told:
    """What the first rank has said, if anything."""

    def __init__(self, failure):
        self.failure = failure

    def failure_of(self, rank, *, wait_seconds):
        return self.failure


@pytest.fixture
def as_rank(monkeypatch):
    """Makes this process one of two, without another one."""

    def become(rank, failure=None):
        class Ranks:
            watch = Told(failure)

        class Joined:
            def __enter__(self):
                return Ranks()

            def __exit__(self, *error):
                return False

        monkeypatch.setattr(launching, "launched", lambda: LaunchedRank(rank, 2, rank, 2, "127.0.0.1", 1))
        monkeypatch.setattr(torch_ranks, "launched_ranks", lambda mine, timeout_seconds: Joined())

    return become


def test_a_process_alone_joins_nothing(monkeypatch):
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    with ranks_of_launcher(timeout_seconds=1.0) as ranks:
        assert ranks is ONE_RANK


def test_the_first_rank_tells_its_error(as_rank):
    as_rank(0)
    with pytest.raises(InputError), ranks_of_launcher(timeout_seconds=1.0):
        raise InputError(Problem(what="wrong"))


def test_the_others_end_quietly_with_the_code_of_an_error_that_the_first_one_tells(as_rank):
    as_rank(1, failure=(2, "wrong"))
    with pytest.raises(typer.Exit) as ended, ranks_of_launcher(timeout_seconds=1.0):
        raise InputError(Problem(what="wrong"))
    assert ended.value.exit_code == 2


def test_an_error_of_one_rank_alone_is_told_by_it(as_rank):
    as_rank(1)
    with pytest.raises(InputError), ranks_of_launcher(timeout_seconds=1.0):
        raise InputError(Problem(what="wrong"))


def test_before_ranks_have_joined_the_first_of_a_host_tells_what_all_of_them_find(monkeypatch, capsys):
    waited = []
    monkeypatch.setattr(ranks_of_a_command.time, "sleep", waited.append)
    monkeypatch.setattr(ranks_of_a_command.signal, "signal", lambda number, action: waited.append(action))
    for local, expected in ((0, []), (1, [signal.SIG_DFL, ranks_of_a_command.WAIT_SECONDS])):
        with pytest.raises(InputError), report_once(LaunchedRank(local, 2, local, 2, "127.0.0.1", 1)):
            raise InputError(Problem(what="wrong"))
        assert waited == expected
    assert capsys.readouterr().err == "rank 1:\n"
    with pytest.raises(InputError), report_once(None):
        raise InputError(Problem(what="wrong"))


def test_where_a_rank_is_lost_the_process_ends_at_once_with_99(as_rank, monkeypatch, capsys):
    codes = []
    monkeypatch.setattr(ranks_of_a_command, "end_now", codes.append)
    as_rank(0)
    with pytest.raises(RankLost), ranks_of_launcher(timeout_seconds=1.0):
        raise RankLost("rank 1 died")
    assert codes == [99]
    assert "error: rank 1 died" in capsys.readouterr().err


@pytest.mark.parametrize("size", ["abc", "0", "-1", "1.5", "²"])
def test_a_wrong_number_of_processes_is_refused(monkeypatch, size):
    monkeypatch.setenv("WORLD_SIZE", size)
    with pytest.raises(InputError, match="WORLD_SIZE: is not a number of processes"):
        ranks_of_a_command.launched_rank()
