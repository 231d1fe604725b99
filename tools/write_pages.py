"""Writes docs/rules/ from the rules and the guards, and what `trimtab explain` searches; docs/tips/ from the tips,
docs/recipe.md from the settings, docs/commands.md from the commands, docs/api/ from the source, the list of decisions,
and docs/lab.md with its plots and the table in README.md from the results of the experiments.

python tools/write_pages.py
"""

from pathlib import Path

import command_page
import decision_list
from api_pages import api_pages

from trimtab.checks.say import search_index
from trimtab.checks.say.pages import PAGES_FOLDER
from trimtab.checks.say.site import generated_pages
from trimtab.config.reference import REFERENCE_PAGE, reference_page
from trimtab.lab.page import lab_pages, readme_with_rows
from trimtab.lab.tip_pages import tip_pages

ROOT = Path(__file__).parent.parent


def main() -> None:
    """Writes what differs, and takes away generated pages that are gone."""
    experiments = ROOT / "experiments"
    pages = {
        **generated_pages(),
        **lab_pages(experiments),
        **tip_pages(experiments),
        **api_pages(),
        REFERENCE_PAGE: reference_page(),
        command_page.PAGE: command_page.commands_page(),
        decision_list.PAGE: decision_list.decision_list(ROOT / "docs" / "decisions"),
        search_index.FILE.relative_to(ROOT).as_posix(): search_index.render_index(),
        "README.md": readme_with_rows((ROOT / "README.md").read_text(encoding="utf-8"), experiments),
    }
    for name, text in pages.items():
        path = ROOT / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            print(f"written: {name}")
    for path in (
        path for folder in (PAGES_FOLDER, "docs/tips", "docs/api") for path in (ROOT / folder).glob("*.md")
    ):
        name = path.relative_to(ROOT).as_posix()
        if name not in pages:
            path.unlink()
            print(f"removed: {name}")


if __name__ == "__main__":
    main()
