"""Builds the documentation as a site in `build/site/html`: `docs/` as it is, and what its pages link to outside it.

    pip install -e ".[docs]" && python tools/build_site.py

`mkdocs.yml` has the theme and the navigation; the rules and decisions of their folders, CHANGELOG and CONTRIBUTING are
added to it here. A source file that a page links to becomes a page of its own, so that the site needs no other host.
The build is strict: a broken link is an error.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from check_docs import BESIDE, problems
from markdown_pages import is_external, links, rewritten, target_of
from ruamel.yaml import YAML

from trimtab.checks.say.rule_list import STAGES

ROOT = Path(__file__).parent.parent
BUILD = ROOT / "build" / "site"
LANGUAGES = {".py": "python", ".yaml": "yaml", ".json": "json", ".toml": "toml"}


def main() -> int:
    """Checks, writes the pages, and builds."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--out", type=Path, default=BUILD, help="folder to write: pages, and the site in html/"
    )
    out = parser.parse_args().out.resolve()
    if found := problems(ROOT):
        print("\n".join(found), file=sys.stderr)
        return 1
    write_source(ROOT, out)
    command = [
        sys.executable,
        "-m",
        "zensical",
        "build",
        "--strict",
        "--clean",
        "-f",
        str(out / "mkdocs.yml"),
    ]
    built = subprocess.run(command, cwd=out)
    if built.returncode == 0:
        print(f"open {out / 'html' / 'index.html'}, or serve it: python -m http.server -d {out / 'html'}")
    return built.returncode


def write_source(root: Path, out: Path) -> None:
    """Writes the pages and the configuration of the site into `out`, whose old ones are removed."""
    places = _places(root)
    shutil.rmtree(out, ignore_errors=True)
    for file, place in places.items():
        target = out / "pages" / place
        target.parent.mkdir(parents=True, exist_ok=True)
        if file.suffix == ".md":
            target.write_text(_linked(file, places, root), encoding="utf-8")
        elif file.is_relative_to(root / "docs"):
            shutil.copyfile(file, target)
        else:
            target.write_text(_listing(file, root), encoding="utf-8")
    settings = YAML(typ="safe").load((root / "mkdocs.yml").read_text(encoding="utf-8"))
    settings |= {"docs_dir": "pages", "site_dir": "html", "nav": _navigation(settings["nav"], root)}
    with (out / "mkdocs.yml").open("w", encoding="utf-8") as opened:
        YAML().dump(settings, opened)


def _places(root: Path) -> dict[Path, str]:
    """The files of the site by their places below `pages`: those of `docs/`, BESIDE, and what these link to."""
    docs = root / "docs"
    places = {each: each.relative_to(docs).as_posix() for each in sorted(docs.rglob("*")) if each.is_file()}
    places |= {root / name: name.lower() for name in BESIDE if name != "README.md"}
    for page in [each for each in places if each.suffix == ".md"]:
        for target in links(page.read_text(encoding="utf-8")):
            file = target_of(page, target)[0]
            if not is_external(target) and file not in places and file != root / "README.md":
                places[file] = f"source/{file.relative_to(root).as_posix()}.md"
    return places


def _linked(page: Path, places: dict[Path, str], root: Path) -> str:
    """The text of a page whose links lead to the places of files in the site."""
    folder = Path(places[page]).parent

    def moved(target: str) -> str:
        if is_external(target):
            return target
        file, anchor = target_of(page, target)
        if file == page:
            return f"#{anchor}"
        if file == root / "README.md":  # its text is for the repository; the site has a first page of its own
            file = root / "docs" / "README.md"
        place = os.path.relpath(places[file], folder).replace(os.sep, "/")
        return f"{place}#{anchor}" if anchor else place

    return rewritten(page.read_text(encoding="utf-8"), moved)


def _listing(file: Path, root: Path) -> str:
    """A page that shows a file of the repository."""
    name, text = file.relative_to(root).as_posix(), file.read_text(encoding="utf-8")
    fence = "`" * max(3, *(len(each) + 1 for each in re.findall(r"`+", text)), 3)
    return f"# {name}\n\n{fence}{LANGUAGES.get(file.suffix, '')}\n{text.rstrip()}\n{fence}\n"


def _navigation(entries: list[Any], root: Path) -> list[Any]:
    """That of `mkdocs.yml` with the rules by stage, the decisions, and the pages from outside `docs/`."""
    found = []
    for section in entries:
        ((title, below),) = section.items()
        if title == "Rules":
            below = [*below, {"By stage": _rules(root / "docs" / "rules")}]
        if title == "Project":
            below = [*below, {"Changes": "changelog.md"}, {"Contributing": "contributing.md"}]
            decisions = next(each["Decisions"] for each in below if "Decisions" in each)
            decisions += [
                f"decisions/{each.name}" for each in sorted((root / "docs/decisions").glob("[0-9]*.md"))
            ]
        found.append({title: below})
    return found


def _rules(folder: Path) -> list[dict[str, list[str]]]:
    names = sorted(each.name for each in folder.glob("[A-Z][0-9]*.md"))
    stages = {f"{letter}: {stage}": [n for n in names if n[0] == letter] for letter, stage in STAGES.items()}
    return [{stage: [f"rules/{name}" for name in those]} for stage, those in stages.items() if those]


if __name__ == "__main__":
    sys.exit(main())
