"""The page of a rule, in Markdown: the same text for `trimtab explain` and for `docs/rules/`."""

import re
from collections.abc import Iterator

from trimtab.checks.evidence import Evidence
from trimtab.checks.rule import Example, Rule
from trimtab.checks.say.grades import best_first, grade, source

_FENCES = {
    ".json": "json",
    ".yaml": "yaml",
    ".yml": "yaml",
    ".py": "python",
    ".sh": "bash",
    ".ipynb": "json",
    ".toml": "toml",
}
_FIELD = re.compile(r"\{(\w+)[^}]*\}")
_SAFETY = {
    "same training": "That leaves the training as it is.",
    "changes training": "That changes what is trained.",
}
_SEVERITY = {
    "error": "an error: the run fails, or does not do what is written",
    "warning": "a warning: likely worse than it need be",
    "note": "a note: worth knowing, or the evidence is mixed",
}


def page_text(rule: Rule) -> str:
    """The whole page."""
    return "\n".join(_lines(rule)).rstrip() + "\n"


def readable(text: str) -> str:
    """A text of a rule with its fields shown as words: `{steps}` becomes `<steps>`."""
    return (
        _FIELD.sub(r"<\1>", text.replace("{{", "\0").replace("}}", "\1"))
        .replace("\0", "{")
        .replace("\1", "}")
    )


def _lines(rule: Rule) -> Iterator[str]:
    yield f"# {rule.code} {rule.name}"
    yield ""
    yield f"{_SEVERITY[rule.severity].capitalize()}. Since trimtab {rule.since}."
    yield ""
    yield f"> {readable(rule.message)}"
    yield ""
    yield from ("## Why", "", readable(rule.why), "")
    yield from ("## Evidence", "")
    yield from map(_bullet, best_first(rule.evidence))
    fix = readable(rule.fix.text)
    yield from ("", "## What to do", "", f"{fix[:1].upper()}{fix[1:]}. {_SAFETY[rule.fix.safety]}", "")
    yield from _example("Found in", rule.bad)
    yield from _example("Not reported", rule.good)
    if rule.symptoms:
        yield from ("## What people see", "", *(f"- {symptom}" for symptom in rule.symptoms), "")
    if rule.aliases:
        yield from (f"Also known as {', '.join(rule.aliases)}.", "")
    if rule.tips:
        yield f"Makes real: {', '.join(rule.tips)} of [the tips](../tips.md)."


def _bullet(evidence: Evidence) -> str:
    where = source(evidence)
    told = f" <{where}>" if where.startswith("http") else f" `{where}`" if where else ""
    unread = "" if getattr(evidence, "opened", True) else ", from memory"
    return f"- *{grade(evidence)}{unread}*{told}: {evidence.text}"


def _example(title: str, example: Example) -> Iterator[str]:
    yield f"## {title}"
    yield ""
    if example.versions:
        yield f"With `{example.versions}`:"
        yield ""
    for name, text in ((example.file, example.text), *example.beside):
        beside = "" if name == example.file else " beside it"
        suffix = name[name.rfind(".") :] if "." in name else ""
        yield from (
            f"`{name}`{beside}",
            "",
            f"```{_FENCES.get(suffix, '')}",
            *text.strip("\n").splitlines(),
            "```",
            "",
        )
