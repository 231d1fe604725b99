"""What the newest look inside the model saw, by layer and by tensor."""

from collections.abc import Sequence
from dataclasses import dataclass

from trimtab.report.plain_values import count, named_numbers
from trimtab.report.run_data import RunData

MOST_LAYERS, MOST_TENSORS = 300, 400
SMALLEST, LARGEST = 1e-5, 1e-1
"""Of update to weight, as `watch.update_ratio` judges."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One number as a bar."""

    name: str
    value: float
    share: float
    """Of the longest bar, 0 to 1."""
    is_odd: bool = False


@dataclass(frozen=True, slots=True)
class LayerTables:
    """The two tables, each with the step of its look."""

    depth_step: int
    depth: Sequence[Bar]
    """Root mean square of what each layer gave on, in their order."""
    ratios_step: int
    ratios: Sequence[Bar]
    """Update to weight by tensor."""


def layer_tables(run: RunData) -> LayerTables | None:
    """The newest looks; None for a run that has none by layer."""
    found: dict[str, tuple[int, list[tuple[str, float]]]] = {}
    for key, most in (("rms_by_depth", MOST_LAYERS), ("update_ratios", MOST_TENSORS)):
        newest = next((each for each in reversed(run.health) if each.get(key)), None)
        rows = [*named_numbers(newest.get(key), most)] if newest else []
        found[key] = (count((newest or {}).get("step")), rows)
    if not any(rows for _, rows in found.values()):
        return None
    depth_step, depth = found["rms_by_depth"]
    ratios_step, ratios = found["update_ratios"]
    return LayerTables(
        depth_step,
        _bars(depth),
        ratios_step,
        [Bar(b.name, b.value, b.share, not SMALLEST <= b.value <= LARGEST) for b in _bars(ratios)],
    )


def _bars(rows: Sequence[tuple[str, float]]) -> list[Bar]:
    largest = max((abs(value) for _, value in rows), default=0.0)
    return [Bar(name, value, abs(value) / largest if largest > 0 else 0.0) for name, value in rows]
