"""A Ctrl-C or SIGTERM, whenever it comes, ends a command with one line, its exit code, and nothing left behind."""

import random
import shutil
import signal
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.faults.counting import Count
from tests.faults.interrupting import (
    PROC,
    End,
    When,
    after,
    begun,
    has_workers,
    interrupted,
    loads_torch,
    says,
    starts_workers,
)
from tests.faults.killing import MANY_STEPS, killed_recipe, newest
from tests.small_run import small_recipe

pytestmark = pytest.mark.skipif(not (PROC / "self/stat").exists(), reason="looks for processes in /proc")

COMMANDS = ("train", "demo", "translate", "evaluate", "generate", "check")
CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}
LINE = "stopped: by "
TRIES = 12
"""Random moments of each command and signal in the long form, besides those that have names."""
LONGEST_SECONDS = 15.0
"""After the command has begun; most are over or in the middle of their work by then."""
TYPED = "the small ship\n" * 200


def arguments_of(command: str, folder: Path, *, pairs: Path, texts: Path) -> list[object]:
    """What a command is called with; `pairs` and `texts` are runs."""
    data = pairs.parent
    return {
        "train": ["train", killed_recipe(folder, workers=2, steps=MANY_STEPS), "--out", folder / "run"],
        "demo": ["demo", "--out", folder / "run", "--minutes", "1"],
        "translate": ["translate", pairs, "--output", folder / "out.txt"],
        "evaluate": ["evaluate", pairs, "--source", data / "dev.en", "--reference", data / "dev.de"],
        "generate": ["generate", texts, "--output", folder / "out.txt"],
        "check": ["check", *[small_recipe(folder / str(number)) for number in range(60)]],
    }[command]


def interrupt(
    command: str, when: When, folder: Path, *, number: int, pairs: Path, texts: Path
) -> tuple[End | None, Path]:
    folder.mkdir()
    arguments = arguments_of(command, folder, pairs=pairs, texts=texts)
    text = TYPED if command in ("translate", "generate") else ""
    return interrupted(arguments, when, folder=folder, number=number, text=text), folder


def wrong(end: End | None, folder: Path, *, number: int) -> str:
    """What is not as it should be about an end; empty for nothing."""
    if end is None:  # over before the signal came
        return ""
    expected = 0 if end.was_over else CODES[number]
    told = [line for line in end.said.splitlines() if line.startswith(LINE)]
    drafts = [path.name for path in folder.iterdir() if path.name.startswith(".out")]
    found = {
        "a traceback": "Traceback" in end.said or "Error" in end.said,
        f"{len(told)} lines": len(told) != (expected != 0)
        or not end.said.endswith("".join(f"{line}\n" for line in told)),
        f"exit code {end.code}": end.code != expected,
        f"left {end.left}": bool(end.left),
        f"half made: {drafts}": bool(drafts),
        "no checkpoint": "after step" in end.said and newest(folder / "run") < 0,
    }
    about = [what for what, is_so in found.items() if is_so]
    return f"{', '.join(about)}: {end.said}" if about else ""


NAMED: list[tuple[str, When, int]] = [
    # Python itself starts before this, for some hundredths of a second, and shows a traceback of its own.
    ("check", begun, signal.SIGINT),
    ("translate", loads_torch, signal.SIGINT),
    ("train", starts_workers, signal.SIGINT),
    ("train", has_workers, signal.SIGTERM),
]


@pytest.mark.quick("translate, loads_torch")
@pytest.mark.parametrize(
    ("command", "when", "number"), NAMED, ids=[f"{each[0]}, {each[1].__name__}" for each in NAMED]
)
def test_a_signal_ends_a_command_with_one_line(
    command: str, when: When, number: int, tmp_path: Path, trained_run: Path, text_run: Path, count: Count
):
    for attempt in range(5):  # on a busy machine a short command may be over before the signal comes
        end, folder = interrupt(
            command, when, tmp_path / str(attempt), number=number, pairs=trained_run, texts=text_run
        )
        if end is not None:
            break
    held = end is not None and wrong(end, folder, number=number) == ""
    count("signals", tried=1, held=held)
    assert end is not None
    assert wrong(end, folder, number=number) == ""


def moments(command: str, *, seed: str) -> Sequence[When]:
    draw = random.Random(seed)
    named = [begun, after(0.02), after(0.1)] + ([] if command == "check" else [loads_torch])
    if command == "train":
        named += [starts_workers, after(0.3, starts_workers), has_workers, after(0.2, has_workers)]
        named += [says("reading"), says("tokenizer"), says("parameters"), says("valid:")]
    if command == "demo":
        named += [says("reading"), says("tokenizer"), says("parameters"), after(8.0, says("parameters"))]
    longest = 0.5 if command == "check" else LONGEST_SECONDS
    return named + [after(draw.uniform(0, longest)) for _ in range(TRIES)]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("command", COMMANDS)
def test_no_moment_is_a_bad_one(
    command: str, number: int, tmp_path: Path, trained_run: Path, text_run: Path, count: Count
):
    found, tried = [], 0
    for turn, when in enumerate(moments(command, seed=f"{command} {number}")):
        end, folder = interrupt(
            command, when, tmp_path / str(turn), number=number, pairs=trained_run, texts=text_run
        )
        tried += end is not None
        found.append(wrong(end, folder, number=number))
        shutil.rmtree(folder)
    count("signals", tried=tried, held=tried - sum(map(bool, found)))
    assert tried >= 4
    assert [each for each in found if each] == []
