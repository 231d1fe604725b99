"""Comments that begin with `#`, wherever no value stands."""

import re
from bisect import bisect_right
from collections.abc import Iterable

from trimtab.checks.read.lines import Lines

_COMMENT = re.compile(r"#([^\r\n]*)")


def comments_outside(spans: Iterable[tuple[int, int]], lines: Lines) -> tuple[tuple[int, str], ...]:
    """Line and text of every comment; `spans` are the values in which `#` is only a character."""
    merged = _merged(spans)
    starts, found, at = [start for start, _ in merged], list[tuple[int, str]](), 0
    while match := _COMMENT.search(lines.text, at):
        index = bisect_right(starts, match.start()) - 1
        if index >= 0 and match.start() < merged[index][1]:
            at = merged[index][1]
        else:
            found.append((lines.position(match.start())[0], match[1].strip()))
            at = match.end()
    return tuple(found)


def _merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        elif end > start:
            merged.append((start, end))
    return merged
