"""The plot of a range test, as SVG and in characters: the loss after a short run over its learning rate."""

import html
import math
from collections.abc import Callable, Iterator

from trimtab.tuning.learning_rate import RateRange, RateTried

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 720, 400, 70, 24, 40, 56
BLUE, GREY, RED, GREEN, INK = "#1f77b4", "#999999", "#d62728", "#2ca02c", "#333333"
COLUMNS = 60


def svg(found: RateRange) -> str:
    """The rates on a logarithmic axis. What ended above the start is drawn at the top edge, in red."""
    low, high = _losses(found)
    rates = [math.log10(each.learning_rate) for each in found.tried]
    first, last = min(rates), max(rates)

    def x(rate: float) -> float:
        return LEFT + (math.log10(rate) - first) / max(1e-9, last - first) * (WIDTH - LEFT - RIGHT)

    def y(loss: float) -> float:
        return TOP + (high - loss) / (high - low) * (HEIGHT - TOP - BOTTOM)

    title = f"Learning rate range test of {found.name}: {found.steps} steps a rate"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" font-family="sans-serif" '
        f'font-size="12" fill="{INK}">',
        f"<title>{html.escape(title)}</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{LEFT}" y="20">{html.escape(title)}</text>',
        *_axes(found, (low, high), x, y),
    ]
    shown = [each for each in found.tried if each.finite and each.loss <= high]
    line = " ".join(f"{x(each.learning_rate):.1f},{y(each.loss):.1f}" for each in shown)
    parts.append(f'<polyline points="{line}" fill="none" stroke="{BLUE}" stroke-width="2"/>')
    parts.extend(_point(each, high, x, y) for each in found.tried)
    if found.suggested is not None:
        rate = min(max(found.suggested, found.tried[0].learning_rate), found.tried[-1].learning_rate)
        parts.append(
            f'<line x1="{x(rate):.1f}" x2="{x(rate):.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}" stroke="{GREEN}" '
            f'stroke-dasharray="4 3" stroke-width="2"/>'
            f'<text x="{x(rate) + 5:.1f}" y="{TOP + 12}" fill="{GREEN}">suggested: {found.suggested:.3g}</text>'
        )
    return "\n".join([*parts, "</svg>"]) + "\n"


def _losses(found: RateRange) -> tuple[float, float]:
    """The axis: from the lowest loss to a little above the start."""
    low = min([found.start_loss, *(each.loss for each in found.tried if each.finite)])
    room = 0.05 * max(1e-9, found.start_loss - low, 1e-3 * abs(found.start_loss))
    return low - room, found.start_loss + 5 * room


def _axes(
    found: RateRange,
    ends: tuple[float, float],
    x: Callable[[float], float],
    y: Callable[[float], float],
) -> Iterator[str]:
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    for each in found.tried:
        place = x(each.learning_rate)
        yield f'<line x1="{place:.1f}" x2="{place:.1f}" y1="{TOP}" y2="{bottom}" stroke="#eeeeee"/>'
        yield f'<text x="{place:.1f}" y="{bottom + 16}" text-anchor="middle">{each.learning_rate:.2g}</text>'
    for part in range(5):
        loss = ends[0] + part / 4 * (ends[1] - ends[0])
        yield f'<text x="{LEFT - 8}" y="{y(loss) + 4:.1f}" text-anchor="end">{loss:.3f}</text>'
    start = y(found.start_loss)
    yield f'<line x1="{LEFT}" x2="{right}" y1="{start:.1f}" y2="{start:.1f}" stroke="{GREY}" stroke-dasharray="2 3"/>'
    yield f'<text x="{LEFT + 4}" y="{start - 4:.1f}" fill="{GREY}">starting loss</text>'
    yield f'<text x="{(LEFT + right) / 2}" y="{HEIGHT - 14}" text-anchor="middle">learning rate (peak)</text>'


def _point(each: RateTried, high: float, x: Callable[[float], float], y: Callable[[float], float]) -> str:
    inside = each.finite and each.loss <= high
    loss = f"{each.loss:.4f}" if each.finite else "not finite"
    return (
        f'<circle cx="{x(each.learning_rate):.1f}" cy="{y(each.loss if inside else high):.1f}" r="4" '
        f'fill="{BLUE if inside else RED}"><title>{each.learning_rate:.3g}: {loss}</title></circle>'
    )


def in_characters(found: RateRange, *, is_ascii: bool = False) -> str:
    """A line for each rate with a bar of how far the loss fell; `is_ascii` for terminals without other characters."""
    full, start = "#" if is_ascii else "█", found.start_loss
    most = max([start - each.loss for each in found.tried if each.finite], default=0.0)
    lines = [f"  {'learning rate':>13}  {'loss':>9}  decrease from {start:.4f}"]
    for each in found.tried:
        fall = start - each.loss if each.finite else 0.0
        bar = full * round(COLUMNS * max(0.0, fall) / most) if most > 0 else ""
        loss = f"{each.loss:9.4f}" if each.finite else "      nan"
        mark = "" if each.finite and fall > 0 else "above starting loss" if each.finite else "diverged"
        lines.append(f"  {each.learning_rate:>13.3g}  {loss}  {bar}{mark}".rstrip())
    return "\n".join(lines)
