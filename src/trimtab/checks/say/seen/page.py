"""What `trimtab explain` says of a finding that only a run can show."""

from dataclasses import dataclass

from trimtab.finding import Severity


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenPage:
    """The page of a code that no configuration shows."""

    code: str
    name: str
    severity: Severity
    """The highest that it is told with."""
    when: str
    """before the first step, where a run goes on, while training, at a checkpoint."""
    seen: str
    why: str
    fix: str
    home: str
    """The module that finds it."""
    symptoms: tuple[str, ...] = ()


def seen_page_text(page: SeenPage) -> str:
    """The page in Markdown, as `docs/rules/` and `trimtab explain` have it."""
    fix = page.fix[:1].upper() + page.fix[1:]
    lines = [
        f"# {page.code} {page.name}",
        "",
        f"Seen by trimtab itself, {page.when} (`{page.home}`); at most told as: {page.severity}.",
        "",
        f"> {page.seen}",
        "",
        *("## Why", "", page.why, ""),
        *("## What to do", "", f"{fix}.", ""),
        *("## What people see", "", *(f"- {symptom}" for symptom in page.symptoms)),
    ]
    return "\n".join(lines) + "\n"
