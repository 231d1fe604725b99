"""What `trimtab data inspect` says about alignment, repeats and overlap, as text."""

from collections.abc import Iterator

from trimtab.data.alignment import Alignment
from trimtab.data.checks import CorpusChecks, DataChecks
from trimtab.data.drift import Drift
from trimtab.data.repeats import Repeats, Shared


def render_checks(checks: DataChecks) -> str:
    """One paragraph for each corpus, then what corpora have in common."""
    parts = ["\n".join(_corpus(corpus)) for corpus in checks.corpora]
    parts += [
        f"{each.name}: source and target are exchanged, compared with {each.other}" for each in checks.swapped
    ]
    if shared := [line for each in checks.shared if each.loose_source for line in _shared(each)]:
        parts.append("\n".join(["validation lines that are in the training data", *shared]))
    return "\n\n".join(parts)


def drift_in_words(drift: Drift) -> str:
    """What is wrong in a stretch, and where to look."""
    stretch = f"{drift.stop - drift.first:,} pairs from pair {drift.first + 1:,} on"
    if drift.kind == "unrelated":
        return f"the lengths of the two sides have nothing to do with each other in {stretch}"
    side = "target" if drift.offset < 0 else "source"
    lines = f"{abs(drift.offset)} line{'s' * (abs(drift.offset) > 1)}"
    return f"the sides are shifted in {stretch}: {lines} of the {side} seem to be lost before"


def _corpus(checks: CorpusChecks) -> Iterator[str]:
    yield f"{checks.name}: checks"
    if checks.alignment is not None:
        yield from _alignment(checks.alignment)
    yield from _repeats(checks.repeats)


def _alignment(alignment: Alignment) -> Iterator[str]:
    together = "" if alignment.correlation is None else f"; lengths correlate by {alignment.correlation:.2f}"
    odd = ", ".join(f"{name} {count:,}" for name, count in alignment.num_odd.items() if count)
    yield f"  alignment: {alignment.lines:,} pairs{together}; odd: {odd or 'none'}"
    if alignment.drift is not None:
        yield f"  {alignment.where}: {drift_in_words(alignment.drift)}"
    yield from (f"    {each.where}: {', '.join(each.reasons)}" for each in alignment.worst)


def _repeats(repeats: Repeats) -> Iterator[str]:
    yield (
        f"  repeated: {repeats.source:,} sources, {repeats.target:,} targets, {repeats.pair:,} pairs; "
        f"{repeats.loose_pair:,} pairs without case, digits and punctuation"
    )
    for group in repeats.groups:
        yield f"    {group.count:,} times the same pair: lines {', '.join(map(str, group.lines))}" + (
            " ..." if group.count > len(group.lines) else ""
        )


def _shared(shared: Shared) -> Iterator[str]:
    total = max(1, shared.lines)
    yield (
        f"  {shared.valid} in {shared.train}: {shared.source:,} sources ({shared.source / total:.2%}), "
        f"{shared.pair:,} pairs ({shared.pair / total:.2%}); without case, digits and punctuation "
        f"{shared.loose_source:,} and {shared.loose_pair:,}"
    )
    yield from (f"    line {here} is line {there}" for here, there in shared.places)
