"""Every page that a finding can lead to: rules, and what suppressions are held to."""

from functools import cache

from trimtab.checks.catalogue import all_rules, rule_of
from trimtab.checks.rule import Rule
from trimtab.checks.silence.pages import PAGES

PAGES_FOLDER = "docs/rules"


@cache
def all_pages() -> tuple[Rule, ...]:
    """By code."""
    return tuple(sorted((*(rule for rule, _ in all_rules()), *PAGES), key=lambda rule: rule.code))


def page_of(code: str) -> Rule:
    """The page of a code that a finding carries."""
    own = next((rule for rule in PAGES if rule.code == code), None)
    return own if own is not None else rule_of(code)


def page_file(rule: Rule) -> str:
    """Where the page is in the project."""
    return f"{PAGES_FOLDER}/{rule.code}.md"
