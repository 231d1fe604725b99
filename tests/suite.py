"""A plugin of pytest for this suite: how many processes, what becomes of a test that hangs, what needs a GPU, and where
tests may write."""

import faulthandler
import gc
import logging
import os
import re
import shutil
import warnings
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from _pytest.faulthandler import fault_handler_stderr_fd_key
from _pytest.logging import catching_logs
from pytest_timeout import is_debugging

from tests.checked_calls import begin_test
from tests.children import share_server

MINUTES_ON_TWO_CORES: int | None = 11
"""What `pytest` took on two cores when it was measured last; None says nothing."""
MOST_PROCESSES = 8
"""Each has the packages (0.5 GB) and session fixtures of its own, which more processes would only make more often."""
SLOW_LIMIT_S = 7200
"""For a test that is marked `slow`; the limit of the others is `timeout` in pyproject.toml."""
FAILED = pytest.StashKey[bool]()
_folders: Counter[str] = Counter()
"""How many tests of a name have had a folder."""


def pytest_configure(config: pytest.Config) -> None:
    """Hides GPUs, unless `-m gpu` asks for the tests that need one, and keeps 8-bit products alike on all CPUs.

    All others are of a CPU's numbers and kernels, and eight processes would share one GPU's memory. CUDA reads the
    variable when it is initialized, which is later.
    """
    if not re.search(r"(?<!not )\bgpu\b", config.getoption("markexpr", "")):
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    if hasattr(config, "workerinput") and Path("/proc/self/fd").exists():
        share_server(Path(config.option.basetemp).parent)
    if "attached_loggers" in catching_logs.__slots__:
        catching_logs.__enter__ = _at_the_root
    # Without it, CTranslate2's sums of products of bytes spill over on AMD processors that have no VNNI.
    os.environ.setdefault("CT2_USE_MKL", "1")


def _at_the_root(catching: catching_logs[Any]) -> Any:
    """Sends what is logged to the handler of a test, as pytest before 9.2 did.

    Later ones also add it to each logger that does not propagate, dozens of torch and transformers, six times for each
    test, which took a third of the time that pytest itself spends on a short one.
    """
    root = logging.getLogger()
    root.addHandler(catching.handler)
    catching.attached_loggers = [root]
    if catching.level is not None:
        catching.handler.setLevel(catching.level)
        catching.orig_level = root.level
        root.setLevel(min(root.level, catching.level))
    return catching.handler


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Each process of pytest-xdist imports other files first, as far as they are its share.

    All of them collect all files, in one order. Where nothing is compiled yet, as in CI, each would compile every file
    while the others do; so each compiles its share, and finds those of the others done. Meanwhile there is
    hardly any garbage to look for.
    """
    gc.disable()
    given = getattr(session.config, "workerinput", None)
    if given is None:
        return
    paths = [session.config.rootpath / argument.partition("::")[0] for argument in session.config.args]
    files = sorted({file for path in paths if path.is_dir() for file in path.rglob("test_*.py")})
    begin = len(files) * int(given["workerid"].removeprefix("gw")) // given["workercount"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for file in files[begin : begin + len(files) // given["workercount"]] if begin else []:
            with suppress(Exception, pytest.skip.Exception):  # told when the file is collected
                import_module(".".join(file.relative_to(session.config.rootpath).with_suffix("").parts))


def pytest_report_header(config: pytest.Config) -> list[str]:
    """How long it takes, before anybody wonders."""
    limit = f"a test that takes more than {config.getini('timeout')} s fails, and its stacks are printed"
    if MINUTES_ON_TWO_CORES is None:
        return [f"trimtab: {limit}"]
    return [f"trimtab: the suite takes about {MINUTES_ON_TWO_CORES} minutes on two cores; {limit}"]


@pytest.hookimpl(tryfirst=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """All cores that this process may use; none beside this one for a single file, which would wait for their start."""
    paths = [Path(argument.partition("::")[0]) for argument in config.args]
    if len(set(paths)) == 1 and paths[0].suffix == ".py":
        return 0
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, MOST_PROCESSES) if cores > 1 else 0


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks cases as `slow` which `quick` does not name, before `-m` chooses, and sets the limit of slow tests.

    The tools come first: the check of types takes so long that at the end one process would wait for it alone.
    """
    _check_names(items)
    items.sort(key=lambda item: item.path.name != "test_workshop.py")
    for item in items:
        if _is_left_out(item):
            item.add_marker(pytest.mark.slow)
        if item.get_closest_marker("slow") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(SLOW_LIMIT_S))


def _is_left_out(item: pytest.Item) -> bool:
    """Whether `quick` of its test names other cases only, or other values of an argument."""
    named = item.get_closest_marker("quick")
    if named is None or not isinstance(item, pytest.Function):
        return False
    given = item.callspec.params
    is_another = bool(named.args) and item.callspec.id not in named.args
    return is_another or any(given[name] not in values for name, values in named.kwargs.items())


def _check_names(items: list[pytest.Item]) -> None:
    """Every case and every value that `quick` names is there, unless single cases were asked for."""
    tests: dict[str, list[pytest.Function]] = {}
    for item in items:
        if item.get_closest_marker("quick") and isinstance(item, pytest.Function):
            tests.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for test, cases in tests.items():
        named = cases[0].get_closest_marker("quick")
        if named is None or len(cases) == 1:
            continue
        missing = [*map(str, set(named.args) - {each.callspec.id for each in cases})]
        for name, values in named.kwargs.items():
            there = [each.callspec.params.get(name) for each in cases]
            missing += [f"{name}={value!r}" for value in values if value not in there]
        if missing:
            said = ", ".join(sorted(missing))
            raise pytest.UsageError(f"{test}: `quick` names {said}, which is no case of this test")


def pytest_collection_finish() -> None:
    """What is imported and collected by now stays, a million objects: the collector of garbage need not look at them.

    Libraries that trainings use ask for a full collection at each start and end, which took most of some tests. To look
    for the little garbage among them first would take seconds. A test that trains makes more objects than Python's
    threshold of 700 many times over, and hardly any garbage in cycles.
    """
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_timeout_set_timer(item: pytest.Item, settings: Any) -> bool | None:
    """The watch over a test, in place of those of pytest-timeout: faulthandler's thread.

    It is C, so it needs no lock of the interpreter and ends a test that hangs in C, with the lock or without. It writes
    to the stderr of the process, which pytest-xdist leaves alone; what pytest-timeout prints in a process of
    pytest-xdist is lost. The process ends, and pytest-xdist reports the test as failed and continues in another.
    """
    if not settings.timeout or is_debugging():
        return None
    faulthandler.dump_traceback_later(
        settings.timeout, exit=True, file=item.config.stash.get(fault_handler_stderr_fd_key, 2)
    )
    return True


@pytest.hookimpl(tryfirst=True)
def pytest_timeout_cancel_timer() -> bool:
    """The test has ended."""
    faulthandler.cancel_dump_traceback_later()
    return True


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """What needs a GPU is left out if there is none, all for one reason."""
    begin_test()
    if item.get_closest_marker("gpu"):
        import torch  # late: tests of the light half need no torch

        if not torch.cuda.is_available():
            pytest.skip("needs a CUDA device and `pytest -m gpu -o addopts=`")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Remembers which tests failed, for `tmp_path`."""
    report = yield
    if report.failed:
        item.stash[FAILED] = True
    return report


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder of the test, which is kept if it fails.

    pytest's own numbers a folder by the names of all that are there, which takes 10 ms once there are thousands.
    """
    name = re.sub(r"\W", "_", request.node.name)[:30].lower()
    _folders[name] += 1
    folder = tmp_path_factory.mktemp(f"{name}-{_folders[name]}", numbered=False)
    yield folder
    if FAILED not in request.node.stash:
        shutil.rmtree(folder, ignore_errors=True)
