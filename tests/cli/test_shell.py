import errno
import os
import sys

import pytest
import typer

from tests.for_each import for_each
from trimtab.cli.shell import MOST_SHOWN, guarded, tell
from trimtab.errors import DiskFull, InputError, NothingToResume, Problem, RunFailed, Terminated, input_error


def outcome(error):
    """Exit code of a command that raises this."""

    @guarded
    def command() -> None:
        raise error

    with pytest.raises(typer.Exit) as raised:
        command()
    return raised.value.exit_code


@for_each(
    ("error", "code"),
    [
        (input_error("x: wrong"), 2),
        (RunFailed("diverged"), 1),
        (NothingToResume("no checkpoint"), 3),
        (DiskFull("full"), 75),
        (Terminated("SIGTERM"), 143),
        (KeyboardInterrupt(), 130),
    ],
)
def test_each_error_has_its_exit_code(error, code):
    assert outcome(error) == code


def test_all_problems_are_told_with_what_got_allowed_and_fix(capsys):
    tell(
        InputError(
            Problem(what="a: wrong", got="1", allowed="2", fix="write 2", where="r.yaml:1:1"),
            Problem(what="b"),
        )
    )
    assert capsys.readouterr().err == (
        "error: a: wrong   (r.yaml:1:1)\n  got     1\n  allowed 2\n  fix     write 2\nerror: b\n"
    )


def test_of_very_many_problems_the_first_are_told_and_the_others_counted(capsys):
    tell(InputError(*(Problem(what=f"data.train.{number}: wrong") for number in range(30_000))))
    *told, rest = capsys.readouterr().err.splitlines()
    assert told == [f"error: data.train.{number}: wrong" for number in range(MOST_SHOWN)]
    assert rest == f"error: and {30_000 - MOST_SHOWN:,} more, not shown"
    tell(InputError(*(Problem(what="a") for _ in range(MOST_SHOWN))))
    assert capsys.readouterr().err == "error: a\n" * MOST_SHOWN


def test_being_told_to_stop_is_not_called_an_error(capsys):
    tell(Terminated("can be resumed"))
    assert capsys.readouterr().err == "stopped: can be resumed\n"


def test_a_missing_part_of_the_extra_says_what_to_install(capsys):
    assert outcome(ModuleNotFoundError("No module named 'torch'", name="torch")) == 2
    assert 'pip install "trimtab[train]"' in capsys.readouterr().err


def test_other_errors_are_bugs_and_pass_through():
    for error in [
        ModuleNotFoundError("No module named 'x'", name="x"),
        ZeroDivisionError(),
        PermissionError(1, "no"),
    ]:

        @guarded
        def command(error=error) -> None:
            raise error

        with pytest.raises(type(error)):
            command()


def test_a_full_disk_under_a_commands_own_output_is_exit_code_75(capsys):
    assert outcome(OSError(errno.ENOSPC, "No space left on device", "out.txt")) == 75
    assert capsys.readouterr().err.startswith(
        "error: out.txt: no space left to write\n  got     No space left"
    )
    assert outcome(OSError(errno.EDQUOT, "Disk quota exceeded")) == 75
    assert "error: the output: no space left" in capsys.readouterr().err


def test_a_command_keeps_its_signature():
    def command(a: int, *, b: str = "x") -> None:
        """Does."""

    assert guarded(command).__doc__ == "Does."
    assert guarded(command).__wrapped__ is command


def test_a_file_that_may_not_be_read_is_told_wherever_it_was_met(capsys):
    assert outcome(PermissionError(errno.EACCES, "Permission denied", "data/a.en")) == 2
    told = capsys.readouterr().err
    assert told.startswith("error: data/a.en: cannot be read")
    assert "\n  got     Permission denied\n  allowed " in told
    with pytest.raises(PermissionError):
        outcome_of_a_bug()


def outcome_of_a_bug():
    @guarded
    def command() -> None:
        raise PermissionError("of nobody knows what")

    command()


def test_a_broken_pipe_is_quiet(monkeypatch):
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as pipe:
        monkeypatch.setattr(sys, "stdout", pipe)

        @guarded
        def command() -> None:
            for _ in range(100_000):
                print("text")

        with pytest.raises(typer.Exit) as raised:
            command()
        assert raised.value.exit_code == 141
