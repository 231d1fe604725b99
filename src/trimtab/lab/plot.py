"""A plot of an experiment: for each comparison its seeds, its mean with the interval, and the margin."""

import html
import math
from collections.abc import Callable, Iterator, Sequence

from trimtab.lab.table import Row
from trimtab.lab.verdict import Comparison

WIDTH, LEFT, RIGHT, TOP, STEP = 720, 220, 24, 34, 44
BLUE, GREY, RED, INK = "#1f77b4", "#999999", "#d62728", "#333333"


def plot(row: Row) -> str:
    """An SVG: differences from left (worse) to right (better), the margin shaded."""
    measure = row.loaded.experiment.measure
    assert measure is not None, "an experiment with arms"
    low, high = _range(row.comparisons)
    height = TOP + STEP * len(row.comparisons) + 40

    def x(value: float) -> float:
        return LEFT + (value - low) / (high - low) * (WIDTH - LEFT - RIGHT)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" font-family="sans-serif" '
        f'font-size="12" fill="{INK}">',
        f"<title>{html.escape(row.question)} {html.escape(row.verdict)}</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        f'<text x="{LEFT}" y="18">{html.escape(measure.metric)}: worse ←  difference  → better</text>',
    ]
    bottom = TOP + STEP * len(row.comparisons)
    for tick in _ticks(low, high):
        parts.append(
            f'<line x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="{TOP - 6}" y2="{bottom}" '
            f'stroke="{INK if tick == 0 else "#dddddd"}" stroke-width="1"/>'
            f'<text x="{x(tick):.1f}" y="{bottom + 16}" text-anchor="middle">{tick:g}</text>'
        )
    for number, each in enumerate(row.comparisons):
        parts.extend(_drawn(each, TOP + STEP * number + STEP / 2, x))
    parts.append(
        f'<text x="{LEFT}" y="{bottom + 34}" fill="{GREY}">'
        "points: seeds; bar: mean and 95% interval; shaded: margin</text>"
    )
    return "\n".join([*parts, "</svg>"]) + "\n"


def _drawn(comparison: Comparison, y: float, x: Callable[[float], float]) -> Iterator[str]:
    prediction, result = comparison.prediction, comparison.result
    left, right = x(-prediction.margin), x(prediction.margin)
    name = html.escape(f"{prediction.arm} against {prediction.than}")
    yield f'<text x="{LEFT - 12}" y="{y + 4:.1f}" text-anchor="end">{name}</text>'
    yield f'<rect x="{left:.1f}" y="{y - 15:.1f}" width="{right - left:.1f}" height="30" fill="#eeeeee"/>'
    for seed, value in zip(comparison.seeds, comparison.differences, strict=True):
        yield (
            f'<circle cx="{x(value):.1f}" cy="{y + 8:.1f}" r="3" fill="none" stroke="{GREY}">'
            f"<title>seed {seed}: {value:+.4g}</title></circle>"
        )
    within = -prediction.margin < result.low and result.high < prediction.margin
    colour = GREY if within else BLUE if result.mean > 0 else RED
    yield (
        f'<line x1="{x(result.low):.1f}" x2="{x(result.high):.1f}" y1="{y - 5:.1f}" y2="{y - 5:.1f}" '
        f'stroke="{colour}" stroke-width="3"/>'
        f'<circle cx="{x(result.mean):.1f}" cy="{y - 5:.1f}" r="5" fill="{colour}"/>'
    )


def _range(comparisons: Sequence[Comparison]) -> tuple[float, float]:
    """What all points, intervals and margins fit into, with some room."""
    values = [0.0]
    for each in comparisons:
        values += [*each.differences, each.result.low, each.result.high]
        values += [each.prediction.margin, -each.prediction.margin]
    room = 0.05 * (max(values) - min(values))
    return min(values) - room, max(values) + room


def _ticks(low: float, high: float) -> list[float]:
    """About six round numbers, zero among them."""
    rough = (high - low) / 6
    unit = 10 ** math.floor(math.log10(rough))
    step = next(each * unit for each in (1, 2, 5, 10) if each * unit >= rough)
    first, last = math.ceil(low / step), math.floor(high / step)
    return [round(float(number * step), 12) for number in range(first, last + 1)]
