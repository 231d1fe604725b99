"""Finds broken links, pages that no link leads to or that have no place in the site's navigation, and text that a
browser would take for HTML.

    python tools/check_docs.py

Looks at `docs/`, the README, CONTRIBUTING and CHANGELOG, and `mkdocs.yml`. Prints a line for each problem and exits
with 1 if there is one. It needs nothing but trimtab: the site itself is built by `tools/build_site.py`.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from markdown_pages import anchors, hidden, is_external, links, target_of
from ruamel.yaml import YAML

ROOT = Path(__file__).parent.parent
BESIDE = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")
"""Pages outside `docs/` that link to it."""


def main() -> int:
    """Prints what is wrong."""
    found = problems(ROOT)
    print("\n".join(found) or "no broken links, no orphans")
    return bool(found)


def problems(root: Path) -> list[str]:
    """What is wrong with the pages below `root`, one line each."""
    docs = root / "docs"
    texts = {
        page: page.read_text(encoding="utf-8")
        for page in [*sorted(docs.rglob("*.md")), *(root / name for name in BESIDE if (root / name).exists())]
    }
    named = list(navigated(YAML(typ="safe").load((root / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]))
    return [
        *_broken_links(root, texts),
        *_orphans(root, texts),
        *(
            f"{page.relative_to(root).as_posix()}: {each} is not shown: write it as code, or with &lt;"
            for page, text in texts.items()
            for each in hidden(text)
        ),
        *(f"mkdocs.yml: docs/{name} does not exist" for name in named if not (docs / name).is_file()),
        *(
            f"mkdocs.yml: docs/{name} is listed {named.count(name)} times"
            for name in dict.fromkeys(named)
            if named.count(name) > 1
        ),
        *(
            f"{page.relative_to(root).as_posix()}: not in the navigation of mkdocs.yml"
            for page in texts
            if page.is_relative_to(docs) and not _has_place(page.relative_to(docs).as_posix(), named)
        ),
    ]


def navigated(entries: Any) -> Iterator[str]:
    """The files that a navigation names, in order."""
    if isinstance(entries, str):
        yield entries
    elif isinstance(entries, dict):
        for below in entries.values():
            yield from navigated(below)
    else:
        for each in entries:
            yield from navigated(each)


def _broken_links(root: Path, texts: dict[Path, str]) -> Iterator[str]:
    known = {page: anchors(text) for page, text in texts.items()}
    for page, text in texts.items():
        here = page.relative_to(root).as_posix()
        for target in filter(lambda each: not is_external(each), links(text)):
            file, anchor = target_of(page, target)
            if not file.is_relative_to(root):
                yield f"{here}: {target} leads out of the repository"
            elif not file.is_file():
                what = "is a folder: link to its README.md" if file.is_dir() else "does not exist"
                yield f"{here}: {target} {what}"
            elif anchor and anchor not in known.get(file, ()):
                yield f"{here}: {target} has no such heading"


def _orphans(root: Path, texts: dict[Path, str]) -> Iterator[str]:
    """Pages that no chain of links reaches from the first page of the documentation."""
    first = root / "docs" / "README.md"
    reached, waiting = {first}, [first]
    while waiting:
        page = waiting.pop()
        for target in filter(lambda each: not is_external(each), links(texts.get(page, ""))):
            file = target_of(page, target)[0]
            if file in texts and file not in reached:
                reached.add(file)
                waiting.append(file)
    for page in texts.keys() - reached - {root / "README.md"}:  # the repository's own first page
        yield f"{page.relative_to(root).as_posix()}: no page links to it"


def _has_place(name: str, named: list[str]) -> bool:
    """Rules and decisions are many: the lists in their folders stand for them."""
    folder = name.rpartition("/")[0]
    return name in named or (folder in ("rules", "decisions") and f"{folder}/README.md" in named)


if __name__ == "__main__":
    sys.exit(main())
