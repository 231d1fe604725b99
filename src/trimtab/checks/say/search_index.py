"""What `trimtab explain` searches: a file generated from the rules, because loading them takes longer than the search.

`python tools/write_pages.py` writes it with the other generated pages, and a test checks that it is up to date.
"""

import json
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from trimtab.checks.record import record

FILE: Final = Path(__file__).parent / "search_index.json"
MOST_CODE: Final = 600
"""Characters of a rule's example that are searched."""


@record
class RuleSummary:
    """A rule, as far as a search needs it; its texts have their fields as words."""

    code: str
    name: str
    message: str
    fix: str
    aliases: tuple[str, ...]
    symptoms: tuple[str, ...]


@record
class SearchIndex:
    """The rules and the words of every page."""

    rules: tuple[RuleSummary, ...]
    """The gravest first, then by code."""
    texts: tuple[str, ...]
    """Of symptoms and their causes, rules and findings of runs, in this order; see `Page`."""
    weights: dict[str, float]
    """Of every word."""


@cache
def search_index() -> SearchIndex:
    """The index, as the file has it."""
    read = json.loads(FILE.read_text(encoding="utf-8"))
    rules = (
        RuleSummary(code, name, message, fix, tuple(aliases), tuple(symptoms))
        for code, name, message, fix, aliases, symptoms in read["rules"]
    )
    return SearchIndex(tuple(rules), tuple(read["texts"]), read["weights"])


@cache
def by_code() -> tuple[RuleSummary, ...]:
    """The rules by code."""
    return tuple(sorted(search_index().rules, key=lambda rule: rule.code))


@cache
def by_name() -> dict[str, RuleSummary]:
    """Code, name and aliases, in lower case; a code or a name goes before an alias."""
    named = {alias.lower(): rule for rule in by_code() for alias in rule.aliases}
    return named | {name.lower(): rule for rule in by_code() for name in (rule.code, rule.name)}


def render_index() -> str:
    """The text of the file, made from the rules themselves."""
    from trimtab.checks.report import GREATEST_FIRST
    from trimtab.checks.say.page import readable
    from trimtab.checks.say.pages import all_pages
    from trimtab.checks.say.ranking import page_text, weights_of

    rules = sorted(all_pages(), key=lambda each: (GREATEST_FIRST.index(each.severity), each.code))
    texts: list[str] = [page_text(phrases, body) for phrases, body in _of_symptoms()]
    for rule in rules:
        message = readable(rule.message)
        body = f"{message} {readable(rule.why)} {readable(rule.fix.text)} {rule.bad.text[:MOST_CODE]}"
        texts.append(page_text((*rule.symptoms, rule.name.replace("-", " "), message), body))
    texts += [page_text(phrases, body) for phrases, body in _of_runs()]
    shown = [
        [rule.code, rule.name, readable(rule.message), readable(rule.fix.text), rule.aliases, rule.symptoms]
        for rule in rules
    ]
    weights = {word: round(weight, 4) for word, weight in sorted(weights_of(texts).items())}
    return (
        json.dumps({"rules": shown, "texts": texts, "weights": weights}, ensure_ascii=False, indent=0) + "\n"
    )


def _of_symptoms() -> Iterator[tuple[Sequence[str], str]]:
    from trimtab.checks.say.causes import SYMPTOMS

    for symptom in SYMPTOMS:
        phrases = (symptom.name, *symptom.also)
        yield phrases, ""
        for cause in symptom.causes:
            yield (cause,), " ".join(phrases)


def _of_runs() -> Iterator[tuple[Sequence[str], str]]:
    from trimtab.run_findings.catalog import ALL

    for page in ALL:
        yield (*page.symptoms, page.name.replace("-", " ")), f"{page.seen} {page.why} {page.fix}"
