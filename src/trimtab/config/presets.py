"""The sizes of a model, by the name of a preset or key by key."""

from collections.abc import Mapping
from typing import Any

from trimtab.config.settings import refused


def filled_from_preset(given: Mapping[str, Any], presets: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """What is given, with what it leaves open as its preset has it; every size that stays open is refused at once.

    A key that `base` has is a size.
    """
    preset = given.get("preset")
    base = presets["base"]
    # An unknown preset is reported once, by its own field, not again by every size that it leaves open.
    sizes: Mapping[str, Any] = {} if preset is None else presets.get(str(preset), base)
    filled = {**sizes, **given}
    missing = [key for key in base if key not in filled]
    if missing:
        raise refused(
            missing[0] if len(missing) == 1 else "",
            f"{', '.join(missing)}: not given, and no preset is named to fill it",
            got=", ".join(key for key in base if key in filled) or "no size",
            allowed=f"all of {', '.join(base)}, or a preset: {', '.join(presets)}",
            fix=f"name a preset, such as `preset: tiny`, or write {', '.join(f'`{key}`' for key in missing)}",
        )
    return filled
