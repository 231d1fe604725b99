"""Whole scripts and configurations as people write them, with the codes that are right for each.

The files of `scripts/` hold cases: `=== name : CODE OTHER|EITHER` begins one, `=== name : -` one of which no error and
no warning may be said, `: !CODE` one of which this code is not said, not
even as a note, and `--- path` a file of it; without a path it is `train.py`.
"""

from pathlib import Path

import pytest

from tests.for_each import for_each
from trimtab.checks.check import check

FOLDER = Path(__file__).with_name("scripts")
CLEAN = ["-"]


def cases():
    """Each case as its name, the codes that are right, and its files."""
    for source in sorted(FOLDER.glob("*.txt")):
        for part in source.read_text(encoding="utf-8").split("=== ")[1:]:
            head, _, body = part.partition("\n")
            name, _, codes = head.partition(" : ")
            yield f"{source.stem}: {name}", codes.split(), files_of(body)


def files_of(body):
    """The files of a case, by path."""
    first, *others = (
        body.split("\n--- ") if not body.startswith("--- ") else ("", *f"\n{body}".split("\n--- ")[1:])
    )
    found = {"train.py": first} if first.strip() else {}
    for other in others:
        path, _, text = other.partition("\n")
        found[path.strip()] = text
    return found


CASES = list(cases())


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """The code and severity of each finding, by the folder of the case."""
    root = tmp_path_factory.mktemp("scripts")
    for number, (_, _, files) in enumerate(CASES):
        for path, text in files.items():
            target = root / str(number) / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
    found = {}
    for each in check(root).diagnoses:
        number = int(Path(each.finding.where).relative_to(root).parts[0])
        found.setdefault(number, []).append((each.finding.code, each.finding.severity))
    return found


@for_each(("number", "case"), list(enumerate(CASES)), called=lambda each: each[1][0])
def test_what_is_said_of_a_script_is_right(number, case, told):
    _, codes, _ = case
    found = told.get(number, [])
    if codes == CLEAN:
        assert [each for each in found if each[1] != "note"] == []
    for code in codes if codes != CLEAN else ():
        if code.startswith("!"):
            assert code[1:] not in [named for named, _ in found], found
            continue
        assert any(named in code.split("|") for named, _ in found), (code, found)


def test_there_are_right_scripts_beside_those_with_a_fault():
    assert sum(codes == CLEAN for _, codes, _ in CASES) >= len(CASES) // 5
