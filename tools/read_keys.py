"""Regenerates `src/trimtab/checks/keys/*.json` from the sources of the tools, by their syntax tree alone.

    python tools/read_keys.py TABLE VERSION=FOLDER [VERSION=FOLDER ...]

TABLE is the name of a module of `tools/key_readers`, with dashes as underscores; each has
`read(trees: list[Tree]) -> dict[str, dict]`, which gives one or more JSON files by name. FOLDER is the unpacked source
of that version (a wheel or a checkout), the newest last. What a source does not say (bounds, new names of old keys) is
written by hand in `tools/key_facts/NAME.json` as {"key": {field: value}} and laid over what was read.
"""

import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

TOOLS = Path(__file__).parent
KEYS = TOOLS.parent / "src/trimtab/checks/keys"


def main(arguments: list[str]) -> None:
    """Writes the files of one reader."""
    sys.path.insert(0, str(TOOLS))
    from key_readers.tree import read_tree

    reader = import_module(f"key_readers.{arguments[0].replace('-', '_')}")
    trees = [read_tree(argument) for argument in arguments[1:]]
    for name, content in reader.read(trees).items():
        path = KEYS / f"{name}.json"
        lay_facts_over(content["keys"], TOOLS / "key_facts" / f"{name}.json")
        open_mappings(content["keys"])
        path.write_text(render(content), encoding="utf-8")
        sys.stdout.write(f"{path}: {len(content['keys'])} keys\n")


def lay_facts_over(keys: dict[str, dict[str, Any]], facts: Path) -> None:
    """Adds what is written by hand; a fact about a key that is not there makes it: an old name, refused today."""
    if not facts.exists():
        return
    for name, row in json.loads(facts.read_text(encoding="utf-8")).items():
        merged = {**keys.get(name, {}), **row}
        keys[name] = {key: value for key, value in merged.items() if value is not None or key == "default"}


def open_mappings(keys: dict[str, dict[str, Any]]) -> None:
    """Marks what may hold keys of which none is listed, so that nothing in it is called unknown."""
    parents = {name.rpartition(".")[0] for name in keys}
    for name, row in keys.items():
        if {"mapping", "any"} & set(row.get("types", ["any"])) and name not in parents:
            row["open"] = True


def render(content: dict[str, Any]) -> str:
    """JSON with one key a line, so that a new version reads well as a difference."""
    head = {key: value for key, value in content.items() if key != "keys"}
    rows = [
        f"    {json.dumps(name)}: {json.dumps(row, ensure_ascii=False)}"
        for name, row in content["keys"].items()
    ]
    text = json.dumps(head, indent=2, ensure_ascii=False).removesuffix("\n}")
    return text + ',\n  "keys": {\n' + ",\n".join(rows) + "\n  }\n}\n"


if __name__ == "__main__":
    main(sys.argv[1:])
