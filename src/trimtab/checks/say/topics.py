"""Rules about something that is no symptom: the beginning of a code, or a word of names, keys and messages."""

import re
from collections.abc import Iterable

from trimtab.checks.say.search_index import RuleSummary, by_code

MOST_WORDS = 3
MOST_RULES = 20
_WORD = re.compile(r"[a-z0-9]+")
_BEGINNING = re.compile(r"[a-z][0-9]{0,2}")


def rules_about(text: str) -> tuple[RuleSummary, ...]:
    """All rules whose code begins so; else those that have the words one behind another, first in name, then in what
    they say and in the fix; at most MOST_RULES of these."""
    wanted = text.strip().lower()
    if _BEGINNING.fullmatch(wanted) and (
        begun := [r for r in by_code() if r.code.lower().startswith(wanted)]
    ):
        return tuple(begun)
    forms = {tuple(_words(form)) for form in (wanted, wanted.replace("-", ""), wanted.replace(" ", ""))} - {
        ()
    }
    if not forms or all(len(form) > MOST_WORDS for form in forms):
        return ()
    named = [rule for rule in by_code() if _has(forms, (rule.name, *rule.aliases))]
    said = [rule for rule in by_code() if rule not in named and _has(forms, (rule.message, rule.fix))]
    return tuple([*named, *said][:MOST_RULES])


def _has(forms: Iterable[tuple[str, ...]], texts: Iterable[str]) -> bool:
    for text in texts:
        for told in (_words(text.lower()), _words(text.lower().replace("-", ""))):
            for form in forms:
                at = range(len(told) - len(form) + 1)
                if any(tuple(told[start : start + len(form)]) == form for start in at):
                    return True
    return False


def _words(text: str) -> list[str]:
    """In the singular, as far as an s tells it."""
    return [word.removesuffix("s") if len(word) > 3 else word for word in _WORD.findall(text)]
