"""All pages that are written from rules, guards and tips: what `tools/write_pages.py` puts into `docs/`."""

from collections.abc import Iterator

from trimtab.checks.say.grades import best_first, grade
from trimtab.checks.say.page import page_text
from trimtab.checks.say.pages import PAGES_FOLDER, all_pages, page_file
from trimtab.checks.say.rule_list import STAGES
from trimtab.checks.say.run_page import run_page_text
from trimtab.checks.say.tips import tips_page
from trimtab.run_findings.catalog import ALL


def generated_pages() -> dict[str, str]:
    """Path below the project's folder to the text that belongs there."""
    rules = all_pages()
    pages = {page_file(rule): page_text(rule) for rule in rules}
    pages |= {f"{PAGES_FOLDER}/{page.code}.md": run_page_text(page) for page in ALL}
    pages[f"{PAGES_FOLDER}/README.md"] = "\n".join(_list()) + "\n"
    pages["docs/tips.md"] = tips_page(rules)
    return pages


def _list() -> Iterator[str]:
    rules = all_pages()
    yield "# Rules"
    yield ""
    yield (
        f"The {len(rules)} rules of `trimtab check`, by the stage that they are about. An error fails the run or makes "
        "something else of it than what is written; a warning is likely worse than it need be; a note is worth "
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
