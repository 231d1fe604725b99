import ast
import re
from pathlib import Path

import pytest

import trimtab
from trimtab.run_findings.catalog import ALL

SOURCES = Path(trimtab.__file__).parent


def modules(words):
    """Every module with these words outside the linter and the texts themselves, with its tree."""
    for path in sorted(SOURCES.rglob("*.py")):
        name = path.relative_to(SOURCES).as_posix()
        if name.startswith(("checks/", "run_findings/")) or name == "finding.py":
            continue
        text = path.read_text(encoding="utf-8")
        if words in text:
            yield name, ast.parse(text)


def test_every_finding_is_reported_by_the_module_that_its_page_names_and_by_no_other():
    constants = {each.name.upper().replace("-", "_"): each.code for each in ALL}
    found = {
        (constants[node.func.value.id], name)
        for name, tree in modules(".found")
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "found"
        and isinstance(node.func.value, ast.Name)
    }
    assert {(each.code, home) for each in ALL for home in (each.home, *each.also)} == found


@pytest.mark.slow
def test_no_finding_of_a_run_is_written_beside_the_texts():
    written = [
        (name, node.lineno)
        for name, tree in modules("Finding")
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Finding"
        if any(each.arg == "code" for each in node.keywords)
    ]
    assert written == []


def test_codes_and_names_are_unique():
    assert len({each.code for each in ALL}) == len({each.name for each in ALL}) == len(ALL)


OF_PAIRS = ("D202", "D203", "D204", "D206", "D207", "D210", "D211", "E201", "E901", "E902", "E903", "M901")
"""Found only where pairs are read, whatever the task: `trimtab data inspect` looks at these."""


def test_what_a_language_model_of_texts_may_be_told_does_not_speak_of_translations():
    pages = {page.code: page for page in ALL if page.code not in OF_PAIRS}
    words = re.compile("translat|sentence|inspect")
    assert {code for code, page in pages.items() if words.search(f"{page.why} {page.fix}")} == {
        "M202",
        "M906",
    }
    # These two say for which of the tasks they mean it.
    assert "without the source it cannot translate" in pages["M202"].why
    assert "where there is a source, check that" in pages["M906"].fix
