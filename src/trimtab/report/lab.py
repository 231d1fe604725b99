"""Results of experiments as one page: each question, what was predicted, which claims hold, how to run it again."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trimtab.errors import input_error
from trimtab.report.log_files import open_plain
from trimtab.report.page import render_page
from trimtab.report.plain_values import is_number, items, mapping, text
from trimtab.report.run_list import check_folder

MOST_RESULTS, MOST_CLAIMS = 500, 60
MOST_BYTES = 32 * 2**20


@dataclass(frozen=True, slots=True)
class ShownClaim:
    """A sentence with its numbers."""

    text: str
    holds: bool


@dataclass(frozen=True, slots=True)
class Result:
    """The result of one experiment."""

    file: str
    name: str
    question: str
    expect: str
    rule: str
    arms: Sequence[str]
    seeds: int
    claims: Sequence[ShownClaim]
    as_predicted: bool
    command: str
    hardware: str
    versions: Sequence[tuple[str, str]]
    seconds: float


def results_in(folder: Path) -> list[Result]:
    """The results in a folder and in the folders of one level below, by name; files that are none are left out. Raises
    InputError where there is none."""
    check_folder(folder)
    found = [
        each
        for path in [*sorted(folder.glob("*.json")), *sorted(folder.glob("*/*.json"))]
        for each in _read(path, folder)
    ]
    if not found:
        raise input_error(
            f"--lab: no result of an experiment in {folder}",
            got="no JSON file with `experiment`, `question` and `verdict`",
            allowed="a folder of results, such as experiments/",
            fix="name the folder that the experiments wrote to",
        )
    return found[:MOST_RESULTS]


def _read(path: Path, folder: Path) -> Iterator[Result]:
    file = open_plain(path)
    if file is None:
        return
    with file:
        content = file.read(MOST_BYTES)
    try:
        tree = mapping(json.loads(content))
    except (ValueError, RecursionError):
        return
    verdict = mapping(tree.get("verdict"))
    if tree.get("experiment") and tree.get("question") and "claims" in verdict:
        yield _result(str(path.relative_to(folder)), tree, verdict)


def _result(file: str, tree: Any, verdict: Any) -> Result:
    claims = map(mapping, items(verdict.get("claims"), MOST_CLAIMS))
    seconds = tree.get("seconds")
    return Result(
        file=file,
        name=text(tree.get("experiment"), 200),
        question=text(tree.get("question"), 1000),
        expect=text(tree.get("expect"), 4000),
        rule=text(tree.get("rule"), 4000),
        arms=[text(each, 200) for each in items(tree.get("arms"), 60)],
        seeds=len(mapping(tree.get("seeds"))),
        claims=[ShownClaim(text(each.get("text"), 2000), each.get("holds") is True) for each in claims],
        as_predicted=verdict.get("as predicted") is True,
        command=text(tree.get("command"), 500),
        hardware=text(tree.get("hardware"), 200),
        versions=[(str(name)[:60], str(each)[:60]) for name, each in mapping(tree.get("versions")).items()],
        seconds=float(seconds) if is_number(seconds) else 0.0,
    )


def lab_html(folder: Path) -> str:
    """The page of a folder of results."""
    return render_page("lab.html", (), folder=str(folder), results=results_in(folder))
