import ast
import re
from pathlib import Path

import trimtab
from trimtab.checks.say.seen_while_running import PAGES

SOURCES = Path(trimtab.__file__).parent
CODE = re.compile(r'\bcode="([A-Z][0-9]{3})",\s+name="([a-z-]+)"')


def test_every_code_outside_the_linter_has_its_page_at_the_place_that_is_told():
    found = {
        (code, name, path.relative_to(SOURCES).as_posix())
        for path in SOURCES.rglob("*.py")
        if "checks" not in path.relative_to(SOURCES).parts
        for code, name in CODE.findall(path.read_text(encoding="utf-8"))
    }
    assert {(page.code, page.name, page.home) for page in PAGES} == found


def findings_in_code():
    """Code, severity and reason of every `Finding(...)` outside the linter, as far as they are plain text."""
    for path in SOURCES.rglob("*.py"):
        if "checks" in path.relative_to(SOURCES).parts:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Finding":
                said = {
                    each.arg: each.value.value
                    for each in node.keywords
                    if isinstance(each.value, ast.Constant)
                }
                if "code" in said:
                    yield said


OF_PAIRS = ("D202", "D203", "D204", "D206", "D207", "D210", "E201", "E901", "E902", "E903", "M901")
"""Found only where pairs are read, whatever the task: `trimtab data inspect` looks at these."""


def test_what_a_language_model_of_texts_may_be_told_does_not_speak_of_translations():
    pages = {page.code: page for page in PAGES if page.code not in OF_PAIRS}
    words = re.compile("translat|sentence|inspect")
    assert {code for code, page in pages.items() if words.search(f"{page.why} {page.fix}")} == {
        "M202",
        "M906",
    }
    # These two say for which of the tasks they mean it.
    assert "without a source it translates none" in pages["M202"].why
    assert "where there is a source, check that" in pages["M906"].fix


def test_a_page_gives_the_reason_that_the_finding_gives():
    reasons = {page.code: page.why for page in PAGES}
    said = [each for each in findings_in_code() if "why" in each]
    assert len(said) >= 8
    assert {each["code"]: each["why"] for each in said if reasons[each["code"]] != each["why"]} == {}
