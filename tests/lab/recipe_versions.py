"""What the recipes of the experiments mean: all their values with defaults filled in, by dotted key.

python -m tests.lab.recipe_versions      writes them again, after RECIPE_VERSION was raised
"""

import json
from pathlib import Path

from trimtab.config.load import load_recipe
from trimtab.lab.runs import RECIPE_VERSION

SCALES = Path(__file__).parents[2] / "experiments" / "scales"
STORED = Path(__file__).with_name("recipe_versions.json")


def meanings():
    """By recipe."""
    return {
        path.stem: dict(flat(load_recipe(path).recipe.model_dump(mode="json")))
        for path in sorted(SCALES.glob("*.yaml"))
    }


def flat(value, name=""):
    """Pairs of dotted keys and plain values, without those that are off or empty."""
    items = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    )
    if items is not None:
        for key, each in items:
            yield from flat(each, f"{name}.{key}".lstrip("."))
    elif value not in (None, ""):
        yield name, value


if __name__ == "__main__":
    STORED.write_text(json.dumps({"version": RECIPE_VERSION, **meanings()}, indent=1) + "\n")
