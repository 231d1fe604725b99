"""Where the checkpoints of a run lie, of which averages are made."""

import sys

import pytest

from tests.benchmarks.open_benchmark import open_benchmark


@pytest.fixture
def arguments(monkeypatch):
    script = open_benchmark("averaging", monkeypatch)

    def parsed(*given):
        monkeypatch.setattr(sys, "argv", ["averaging.py", "--data", "DIR", "--out", "it.json", *given])
        args = script.arguments()
        return args, script.lengths(args)

    return parsed


@pytest.mark.parametrize("steps", [16, 100, 2000])
def test_checkpoints_are_evenly_spread_over_the_steps_and_the_last_one_is_the_end(arguments, steps):
    args, lengths = arguments("--steps", str(steps))
    length, saved, scored = (int(each.removesuffix(" steps")) for each in lengths)
    assert length == args.steps
    assert 0 <= steps - length < args.checkpoints
    assert length == saved * args.checkpoints == scored * args.evaluations


def test_a_length_in_seconds_is_cut_likewise(arguments):
    _, lengths = arguments("--seconds", "96")
    assert lengths == ["1.600000 minutes", "0.100000 minutes", "0.200000 minutes"]


@pytest.mark.parametrize(
    "given", [["--side-by-side"], ["--steps", "15"], ["--steps", "16", "--seconds", "3"]]
)
def test_lengths_that_mean_nothing_are_refused(arguments, given):
    with pytest.raises(SystemExit):
        arguments(*given)
