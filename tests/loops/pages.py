"""The pages of docs/loops and their code."""

import re
from pathlib import Path

FOLDER = Path(__file__).parent.parent.parent / "docs" / "loops"
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
NEEDS = {
    "accelerate": "accelerate",
    "trainer": "transformers",
    "lightning": "lightning",
    "fabric": "lightning",
}
"""What a page's code imports beside torch."""


def examples() -> dict[str, str]:
    """Each block of each page, by the page's name and the block's number from 1."""
    return {
        f"{path.stem} {number}": text
        for path in sorted(FOLDER.glob("*.md"))
        for number, text in enumerate(BLOCK.findall(path.read_text(encoding="utf-8")), 1)
    }


def run(name: str) -> dict:
    """Runs one block as a script and gives its names."""
    names = {"__name__": "__main__"}
    exec(compile(examples()[name], str(FOLDER / f"{name.split()[0]}.md"), "exec"), names)
    return names
