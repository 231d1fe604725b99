"""How the suite runs: a test that hangs fails and says where, and each process computes on one thread."""

import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

import pytest
import torch
from hypothesis.internal.conjecture.providers import HypothesisProvider

from tests import children, conftest, suite
from tests.children import run_in_child, server, start_child, wait
from tests.one_thread import ONE_THREAD

ROOT = Path(__file__).parent.parent
INI = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
IN_PYTHON = "import time\n\n\ndef test_hangs():\n    time.sleep(300)\n"
IN_A_CHILD = """
import subprocess, sys


def test_hangs():
    subprocess.run([sys.executable, "-c", "import time; time.sleep(300)"], check=True)
"""
IN_C_WITH_THE_LOCK = """
import ctypes


def test_hangs():
    ctypes.PyDLL(None).sleep(300)
"""
HANGS = {
    "in Python": IN_PYTHON,
    "in a child": IN_A_CHILD,
    "in C, with the interpreter's lock": IN_C_WITH_THE_LOCK,
}


def settle(folder: Path) -> list[str]:
    """Gives the folder the settings of this project; the first words of a command that tests what is in it."""
    (folder / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text())
    return ["-p", "tests.suite", "tests"]


def run_pytest(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """In an interpreter of its own, which may end in the middle."""
    return subprocess.run(
        [sys.executable, "-m", "pytest", *settle(folder), *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def pytest_in_a_child(folder: Path, *arguments: str) -> tuple[int, str]:
    """The exit code and what was said, where all ends well enough; without the second that an interpreter takes."""
    # Its types are not checked there, as in all children: the packages have been imported.
    command = [*settle(folder), "-n", "0", "--jaxtyping-packages=", *arguments]

    def work() -> None:
        os.chdir(folder)
        sys.exit(int(pytest.main(command)))

    with tempfile.TemporaryFile() as file:
        code = wait(start_child(work, standard=(0, file.fileno(), file.fileno())))
        file.seek(0)
        return code, file.read().decode()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tests").mkdir()
    return tmp_path


@pytest.mark.quick("in C, with the interpreter's lock-1")
@pytest.mark.parametrize("processes", "01")
@pytest.mark.parametrize("hang", HANGS)
def test_a_test_that_hangs_fails_with_its_stacks_and_ends_the_run(folder: Path, hang: str, processes: str):
    (folder / "tests" / "test_hanging.py").write_text(HANGS[hang])
    # One that dies is not replaced, since there is nothing left to run.
    code, said = pytest_in_a_child(folder, "-n", processes, "-o", "timeout=1", "--max-worker-restart", "0")
    assert code == 1, said
    assert re.search(r'test_hanging\.py", line \d+.* in test_hangs', said), said
    if processes != "0":
        assert "crashed while running 'tests/test_hanging.py::test_hangs'" in said
        assert "1 failed" in said


QUICK = (
    "import pytest\n\n\n"
    "@pytest.mark.quick({named})\n@pytest.mark.parametrize('name', ['one', 'two', 'three'])\n"
    "def test_each(name):\n    pass\n"
)


def test_of_a_test_with_quick_cases_the_others_are_slow(folder: Path):
    (folder / "tests" / "test_cases.py").write_text(QUICK.format(named="'one', 'three'"))
    (folder / "tests" / "test_values.py").write_text(QUICK.format(named="name=['two']"))
    assert "3 passed, 3 deselected" in pytest_in_a_child(folder)[1]


@pytest.mark.quick("'one', 'four'-four")
@pytest.mark.parametrize(("named", "missing"), [("'one', 'four'", "four"), ("name=['five']", "name='five'")])
def test_a_quick_case_that_is_none_of_its_test_is_refused_by_name(folder: Path, named: str, missing: str):
    (folder / "tests" / "test_cases.py").write_text(QUICK.format(named=named))
    code, said = pytest_in_a_child(folder)
    assert code == pytest.ExitCode.USAGE_ERROR
    assert f"`quick` names {missing}, which is no case of this test" in said


@pytest.mark.slow
def test_the_others_run_after_one_that_hangs_has_failed(folder: Path):
    (folder / "tests" / "test_hanging.py").write_text(IN_PYTHON + "\n\ndef test_works():\n    pass\n")
    ended = run_pytest(folder, "-n", "1", "-o", "timeout=1")
    assert "1 failed, 1 passed" in ended.stdout, ended.stdout + ended.stderr


def test_every_test_has_a_limit_and_slow_ones_have_their_own(folder: Path):
    (folder / "tests" / "test_limits.py").write_text(
        "import pytest\n\n\n"
        "def limit(request):\n    marker = request.node.get_closest_marker('timeout')\n"
        "    return marker and marker.args[0]\n\n\n"
        "def test_quick(request):\n    assert limit(request) is None\n\n\n"
        f"@pytest.mark.slow\ndef test_slow(request):\n    assert limit(request) == {suite.SLOW_LIMIT_S}\n\n\n"
        "@pytest.mark.slow\n@pytest.mark.timeout(9)\ndef test_own(request):\n    assert limit(request) == 9\n"
    )
    _, said = pytest_in_a_child(folder, "-m", "slow or not slow")
    assert "3 passed" in said
    assert f"a test that takes more than {INI['timeout']} s fails" in said
    minutes = suite.MINUTES_ON_TWO_CORES
    assert minutes is None or f"about {minutes} minutes on two cores" in said
    assert 60 <= INI["timeout"] <= suite.SLOW_LIMIT_S


@pytest.mark.parametrize(
    ("cores", "paths", "processes"),
    [
        (1, [], 0),
        (2, [], 2),
        (64, [], suite.MOST_PROCESSES),
        (2, ["tests/data"], 2),
        (2, ["tests/test_units.py"], 0),
        (2, ["tests/test_units.py::test_a", "tests/test_units.py::test_b"], 0),
        (2, ["tests/test_units.py", "tests/test_errors.py"], 2),
    ],
)
def test_there_is_a_process_for_each_core_but_none_more_for_one_file(
    monkeypatch: pytest.MonkeyPatch, cores: int, paths: list[str], processes: int
):
    class Config:
        args = paths

    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(cores)), raising=False)
    assert suite.pytest_xdist_auto_num_workers(Config()) == processes


@pytest.mark.parametrize(
    ("asked", "visible"),
    [("not slow", False), ("", False), ("not gpu", False), ("gpu", True), ("gpu and not slow", True)],
)
def test_tests_see_a_gpu_only_where_those_that_need_one_are_asked_for(
    monkeypatch: pytest.MonkeyPatch, asked: str, visible: bool
):
    class Config:
        def getoption(self, name: str, default: str) -> str:
            return {"markexpr": asked}.get(name, default)

    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    suite.pytest_configure(Config())
    assert os.environ["CUDA_VISIBLE_DEVICES"] == ("0" if visible else "")


def test_this_process_computes_on_one_thread():
    assert torch.get_num_threads() == 1
    assert {os.environ[name] for name in ONE_THREAD} == {"1"}


@pytest.mark.slow
@pytest.mark.parametrize("threads", ["", "1", "8"])
def test_each_process_computes_on_one_thread_whatever_the_user_has_set(threads: str):
    script = (
        "import tests.conftest, os, torch\n"
        "print(torch.get_num_threads(), *(os.environ[name] for name in ('OMP_NUM_THREADS', 'MKL_NUM_THREADS')))"
    )
    environment = {name: value for name, value in os.environ.items() if "NUM_THREADS" not in name}
    ended = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env=environment | ({"OMP_NUM_THREADS": threads} if threads else {}),
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stdout.split() == ["1", "1", "1"]
    assert torch.get_num_threads() == 1


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="counts threads by /proc")
def test_the_server_of_children_has_one_thread_and_its_children_compute():
    def compute() -> None:
        assert torch.ones(3_000_000).sum().item() == 3_000_000

    torch.ones(3_000_000).sum()  # here too, before the children start
    assert [run_in_child(compute) for _ in range(3)] == [0, 0, 0]
    assert len(os.listdir(f"/proc/{server()._forkserver_pid}/task")) == 1


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="a server is adopted by /proc")
def test_processes_have_one_server_of_children_and_one_that_has_ended_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(children, "_shared", [tmp_path])
    own = server()
    monkeypatch.setattr(children, "_started", lambda: own)
    first, second = (children.server.__wrapped__() for _ in range(2))
    assert first is own
    assert (second._forkserver_pid, second._forkserver_address) != (None, first._forkserver_address)
    assert second._forkserver_pid == first._forkserver_pid
    with monkeypatch.context() as patch:
        patch.setattr(children, "server", lambda: second)
        assert run_in_child(lambda: sys.exit(3)) == 3
    note = json.loads((tmp_path / "fork-server.json").read_text())
    (tmp_path / "fork-server.json").write_text(json.dumps(note | {"owner": 2**22 + 1}))
    assert children.server.__wrapped__() is own


def test_a_folder_of_a_test_is_new_and_stays_only_if_the_test_fails(folder: Path):
    (folder / "tests" / "test_folders.py").write_text(
        "import pathlib, pytest\n\n\n"
        "@pytest.mark.parametrize('name', ['a', 'A', 'a/b'])\n"
        "def test_each(tmp_path, name):\n    (tmp_path / 'x').touch()\n    assert len([*tmp_path.iterdir()]) == 1\n"
        "    assert name != 'A'\n"
    )
    _, said = pytest_in_a_child(folder, "--basetemp", str(folder / "base"))
    assert "1 failed, 2 passed" in said
    assert [each.name for each in (folder / "base").iterdir() if each.is_dir()] == ["test_each_a_-2"]


def test_ci_runs_the_command_of_the_readme():
    (command,) = re.findall(r'^(pip install "\.\[dev\]" && pytest)\b', (ROOT / "README.md").read_text(), re.M)
    assert f'\n{command} "$@"\n' in (ROOT / ".ci" / "run").read_text()


def test_hypothesis_draws_the_same_examples_whatever_has_been_imported():
    drawn = HypothesisProvider(None)._local_constants
    assert [len(drawn.set_for_type(kind)) for kind in ("integer", "float", "string", "bytes")] == [0] * 4


@pytest.mark.slow
def test_the_characters_that_hypothesis_draws_are_those_that_it_would_find_itself():
    assert conftest.intervals_from_codec("utf-8") == conftest.UTF_8
