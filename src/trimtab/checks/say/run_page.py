"""The page of a finding that only a run can show."""

from trimtab.run_findings.spec import RunFinding


def run_page_text(page: RunFinding) -> str:
    """The page in Markdown, as `docs/rules/` and `trimtab explain` have it."""
    fix = page.fix[:1].upper() + page.fix[1:]
    lines = [
        f"# {page.code} {page.name}",
        "",
        f"Seen by trimtab itself, {page.when} (`{page.home}`); at most reported as: {page.severity}.",
        "",
        f"> {page.seen}",
        "",
        *("## Why", "", page.why, ""),
        *("## What to do", "", f"{fix}.", ""),
        *("## What people see", "", *(f"- {symptom}" for symptom in page.symptoms)),
    ]
    return "\n".join(lines) + "\n"
