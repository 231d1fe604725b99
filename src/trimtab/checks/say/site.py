"""All pages that are written from rules and guards: what `tools/write_pages.py` puts into `docs/`."""

import re
from collections.abc import Iterator

from trimtab.checks.say.grades import best_first, grade
from trimtab.checks.say.page import page_text
from trimtab.checks.say.pages import PAGES_FOLDER, all_pages, page_file
from trimtab.checks.say.rule_list import STAGES
from trimtab.checks.say.run_page import run_page_text
from trimtab.run_findings.catalog import ALL

_CODE = re.compile(r"(^```.*?^```|`[^`\n]*`)", re.DOTALL | re.MULTILINE)
_FIELD = re.compile(r"<(?=[A-Za-z][\w -]*>)")
_TIPS = re.compile(r"^Makes real: (.*) of \[the tips\]\(\.\./tips\.md\)\.$", re.MULTILINE)


def generated_pages() -> dict[str, str]:
    """Path below the project's folder to the text that belongs there."""
    rules = all_pages()
    pages = {page_file(rule): for_browsers(page_text(rule)) for rule in rules}
    pages |= {f"{PAGES_FOLDER}/{page.code}.md": for_browsers(run_page_text(page)) for page in ALL}
    pages[f"{PAGES_FOLDER}/README.md"] = "\n".join(_list()) + "\n"
    return pages


def for_browsers(text: str) -> str:
    """A page that a terminal shows, for a browser: `<steps>` is no HTML element, and tips are links."""
    pieces = _CODE.split(text)
    pieces[::2] = [_FIELD.sub("&lt;", piece) for piece in pieces[::2]]
    return _TIPS.sub(lambda match: f"Makes real: {_tip_links(match[1])}.", "".join(pieces))


def _tip_links(ids: str) -> str:
    return ", ".join(f"[{id}](../tips/{id.partition('-')[0]}.md)" for id in ids.split(", "))


def _list() -> Iterator[str]:
    rules = all_pages()
    yield "# Rules"
    yield ""
    yield (
        f"The {len(rules)} rules of `trimtab check`, by the stage that they are about. An error makes the run fail or "
        "do something other than what is written; a warning likely makes it worse than necessary; a note is worth "
        "knowing. Written from the rule files by `python tools/write_pages.py`."
    )
    for letter, stage in STAGES.items():
        here = [rule for rule in rules if rule.code.startswith(letter)]
        if here:
            yield from (
                "",
                f"## {letter}: {stage}",
                "",
                "| code | name | severity | best evidence |",
                "|---|---|---|---|",
            )
            for rule in here:
                best = best_first(rule.evidence)
                told = grade(best[0]) if best else ""
                yield f"| [{rule.code}]({rule.code}.md) | {rule.name} | {rule.severity} | {told} |"
    yield from ("", "## Seen before the first step and while a run runs", "")
    yield from ("| code | name | at most | when |", "|---|---|---|---|")
    for page in ALL:
        yield f"| [{page.code}]({page.code}.md) | {page.name} | {page.severity} | {page.when} |"
