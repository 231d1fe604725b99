import re
from pathlib import Path

import trimtab
from trimtab.checks.say.seen_while_running import PAGES, seen_page_text

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


def test_a_page_says_what_why_and_what_to_do():
    for page in PAGES:
        text = seen_page_text(page)
        assert text.startswith(f"# {page.code} {page.name}\n")
        assert page.why in text
        assert page.symptoms
