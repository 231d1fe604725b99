"""What `trimtab explain` says: a page by code, name or alias; else what may be behind a symptom."""

import re
from collections.abc import Iterator, Sequence
from typing import assert_never

from trimtab.checks.nearest import nearest
from trimtab.checks.record import record
from trimtab.checks.say.causes import SYMPTOMS
from trimtab.checks.say.run_page import run_page_text
from trimtab.checks.say.search_index import RuleSummary, by_code, by_name
from trimtab.checks.say.symptoms import Answer, Cause, search
from trimtab.checks.say.topics import rules_about
from trimtab.errors import one_line
from trimtab.run_findings.catalog import ALL
from trimtab.run_findings.spec import RunFinding

_LIKE_A_KEY = re.compile(r"[a-z_]+(?:\[\])?(?:\.[a-z_0-9]+(?:\[\])?)*")
MOST_RELATED = 8
"""Rules that are listed beside a recipe key, and keys beside a word."""
MOST_SHOWN = 80
"""Characters of a question that its answer repeats."""
_LAST = (
    "",
    "`trimtab explain CODE` shows the page of each; `trimtab check FILE` says which of them your file has.",
)


@record
class Explanation:
    """A text in Markdown."""

    text: str
    is_found: bool = True


def explanation(text: str) -> Explanation:
    """The page of a code, name or alias; or an answer to a symptom; or what was perhaps meant."""
    wanted = text.strip().lower()
    pages = _pages_named(wanted)
    if pages:
        return Explanation("\n".join(pages))
    if _LIKE_A_KEY.fullmatch(wanted) and (page := _of_a_key(wanted)):
        return page
    shown = one_line(text.strip()[: MOST_SHOWN + 1])
    shown = shown if len(shown) <= MOST_SHOWN else f"{shown[:MOST_SHOWN]}..."
    answer, about = search(text), () if _is_symptom(wanted) else rules_about(text)
    if (about or not answer.is_empty) and not _looks_like_a_name(wanted):
        lines = [*_about_lines(shown, about), *_answer_lines(shown, answer, about), *_keys_lines(wanted)]
        return Explanation("\n".join([*lines, *_LAST]) + "\n")
    return Explanation("\n".join(_not_found(shown, wanted, answer)) + "\n", is_found=False)


def _pages_named(wanted: str) -> list[str]:
    for page in ALL:
        if wanted in (page.code.lower(), page.name):
            return [run_page_text(page)]
    named = by_name().get(wanted)
    if named is not None and wanted in (named.code.lower(), named.name.lower()):
        return [_page(named)]
    return [_page(rule) for rule in by_code() if wanted in map(str.lower, rule.aliases)]


def _page(rule: RuleSummary) -> str:
    from trimtab.checks.say.page import page_text  # late: of all rules only this one is loaded
    from trimtab.checks.say.pages import page_of

    return page_text(page_of(rule.code))


def _of_a_key(key: str) -> Explanation | None:
    """The page of a recipe key, and what rules and findings say of it; None for what is meant otherwise."""
    from trimtab.config.key_page import is_key, key_lines, near_keys  # late: it loads the recipe's settings

    if not is_key(key):
        return None
    lines = key_lines(key)
    if not lines:
        near = near_keys(key)
        unknown = [
            f"no recipe key `{key}`",
            *([f"  did you mean {' or '.join(f'`{each}`' for each in near)}?"] if near else []),
        ]
        return Explanation("\n".join([*unknown, "  `docs/recipe.md` lists all keys"]) + "\n", is_found=False)
    name = lines[0].removeprefix("# ")
    if related := _related_to(name):
        lines += ["", "## Rules and findings about it", "", *map(_likely, related), *_LAST]
    return Explanation("\n".join(lines) + "\n")


def _related_to(key: str) -> list[RuleSummary | RunFinding]:
    """Findings that name the key, and rules about its last part where that says enough alone: `learning_rate`, and not
    `weight`."""
    last = key.rpartition(".")[2]
    named = [page for page in ALL if key in f"{page.fix} {page.why}"]
    about = rules_about(last.replace("_", " ")) if "_" in last or key.count(".") == 1 else ()
    return [*named[:MOST_RELATED], *about[:MOST_RELATED]]


def _keys_lines(wanted: str) -> Iterator[str]:
    """Where the recipe has keys of that name."""
    if " " in wanted:
        return
    from trimtab.config.key_page import keys_called

    if keys := keys_called(wanted)[:MOST_RELATED]:
        yield from ("", f"Recipe keys of that name: {', '.join(f'`{key}`' for key in keys)}.")


def _looks_like_a_name(wanted: str) -> bool:
    """A code or a name of a rule, misspelled; never several words."""
    is_code = len(wanted) >= 4 and wanted[-3:].isdigit() and wanted[0].isalpha()
    return " " not in wanted and (is_code or wanted.count("-") >= 2)


def _is_symptom(wanted: str) -> bool:
    return any(wanted in (each.name.lower(), *map(str.lower, each.also)) for each in SYMPTOMS)


def _about_lines(text: str, rules: Sequence[RuleSummary]) -> Iterator[str]:
    if rules:
        yield from (f"# Rules about: {text}", "")
        yield from map(_item, rules)


def _item(rule: RuleSummary) -> str:
    return f"- {rule.code} {rule.name}: {rule.message}"


def _likely(page: RuleSummary | RunFinding | Cause) -> str:
    match page:
        case RuleSummary():
            return _item(page)
        case RunFinding():
            return f"- {page.code} {page.name}: {page.seen}"
        case Cause():
            return f"- {page.text} ({page.symptom.name})"
        case _:
            assert_never(page)


def _answer_lines(text: str, answer: Answer, told: Sequence[RuleSummary]) -> Iterator[str]:
    is_told = bool(answer.likeliest) and answer.likeliest[0] in told
    if is_told or (not answer.symptoms and not answer.seen and all(rule in told for rule in answer.rules)):
        return
    if told:
        yield ""
    yield f"# What may be behind: {text}"
    likeliest = [page for page in answer.likeliest if page not in told]
    if likeliest:
        yield from ("", "## Likeliest", "")
        yield from map(_likely, likeliest)
    for symptom in answer.symptoms:
        yield from (
            "",
            f"## {symptom.name}",
            "",
            *(f"{number}. {cause}" for number, cause in enumerate(symptom.causes, 1)),
        )
        if symptom.parts:
            yield from ("", f"In trimtab: {symptom.parts}.")
    shown = [*told, *likeliest]
    if others := [rule for rule in answer.rules if rule not in shown]:
        yield from ("", "## Rules of `trimtab check`", "", *map(_item, others))
    if seen := [page for page in answer.seen if page not in shown]:
        yield from ("", "## Seen while a run runs", "", *map(_likely, seen))


def _not_found(text: str, wanted: str, answer: Answer) -> Iterator[str]:
    yield f"no page matches `{text}`"
    if _looks_like_a_name(wanted):
        names = [*by_name(), *(name for page in ALL for name in (page.code.lower(), page.name))]
        if near := nearest(wanted, names, cutoff=0.7):
            shown = by_name()[near].name if near in by_name() else near
            yield f"  did you mean `{shown}`?"
        yield "  `trimtab rules` lists all rules"
        return
    yield "  closest symptoms; run `trimtab explain` with one of them:"
    yield from (f"    {name}" for name in answer.nearest)
