"""`docs/decisions/README.md`: the decisions by number, with their titles."""

from pathlib import Path

PAGE = "docs/decisions/README.md"


def decision_list(folder: Path) -> str:
    """The page of the decisions in `folder`."""
    lines = [
        "# Decisions",
        "",
        "<!-- Written by tools/write_pages.py from the decisions. -->",
        "",
        "Why trimtab is built as it is: the context, the choice, what was rejected, and what would change it.",
        "",
    ]
    for path in sorted(folder.glob("[0-9]*.md")):
        with path.open(encoding="utf-8") as opened:
            lines.append(f"- [{opened.readline().removeprefix('# ').strip()}]({path.name})")
    return "\n".join(lines) + "\n"
