import os

import pytest

from tests.report.folder_of_a_run import write_run
from trimtab.cli.report import MOST_RUNS
from trimtab.report import watch as module


@pytest.fixture
def refused(call):
    """Calls a command that must end with exit code 2 and no traceback; gives what it said."""

    def run(*arguments):
        done = call(*arguments)
        assert done.exit_code == 2
        assert "Traceback" not in done.stderr
        assert "fix" in done.stderr
        return done.stderr

    return run


@pytest.mark.slow
def test_the_report_of_a_run_is_written_into_it(call, tmp_path):
    run = write_run(tmp_path / "my")
    done = call("report", run)
    assert done.exit_code == 0
    assert done.stdout.startswith(f"{run / 'report.html'}: ")
    assert "</html>" in (run / "report.html").read_text()
    assert call("report", run).exit_code == 0  # and again over it


def test_several_runs_are_compared_in_one_file(call, tmp_path):
    runs = [write_run(tmp_path / name) for name in "ab"]
    assert call("report", *runs, "--out", tmp_path / "both.html").exit_code == 0
    assert "What differs in the recipes" in (tmp_path / "both.html").read_text()


def test_a_sweep_is_written_beside_its_runs(call, tmp_path):
    for name in "ab":
        write_run(tmp_path / name, steps=5)
    done = call("report", "--sweep", tmp_path)
    assert (done.exit_code, done.stdout.split(":")[0]) == (0, str(tmp_path / "report.html"))
    assert "2 runs in" in (tmp_path / "report.html").read_text()


def test_wrong_input_is_refused_with_what_to_do(call, refused, tmp_path):
    run = write_run(tmp_path / "my")
    metrics = (run / "metrics.jsonl").read_bytes()
    for arguments, said in (
        ((tmp_path / "none",), "no such run"),
        ((run, "--out", tmp_path), "Is a directory"),
        ((run, "--out", tmp_path / "no" / "such.html"), "cannot be written"),
        ((run, "--out", run / "metrics.jsonl"), "part of the model"),
        ([run] * (MOST_RUNS + 1), "too many runs"),
        ((), "nothing to report"),
        ((run, "--sweep", tmp_path), "name one thing"),
        (("--lab", tmp_path), "no result of an experiment"),
    ):
        assert said in refused("report", *arguments)
    assert (run / "metrics.jsonl").read_bytes() == metrics


def test_a_link_in_the_place_of_the_report_is_replaced_not_followed(call, tmp_path):
    run, other = write_run(tmp_path / "my"), tmp_path / "other.txt"
    other.write_text("mine")
    os.symlink(other, run / "report.html")
    assert call("report", run).exit_code == 0
    assert other.read_text() == "mine"
    assert not (run / "report.html").is_symlink()


def test_watch_serves_until_it_is_stopped(call, monkeypatch, tmp_path):
    run, seen = write_run(tmp_path / "my", steps=5), []

    def at_once(server, ready):
        ready(server)
        seen.append(server.url)
        server.stop()

    monkeypatch.setattr(module, "serve_until_signal", at_once)
    done = call("watch", run, "--port", 0)
    assert done.exit_code == 0
    assert f"live at {seen[0]}" in done.stderr
