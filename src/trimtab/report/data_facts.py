"""What went into a run and what did not: the ledger of its data, and the lines in quarantine."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trimtab.report.plain_values import count, items, mapping, text
from trimtab.report.run_data import RunData

MOST_LINES = 100
"""Quarantined lines that are shown."""
MOST_CHARACTERS = 500
MOST_CORPORA = 100
MOST_BINS = 64


@dataclass(frozen=True, slots=True)
class CorpusFacts:
    """One corpus of the run."""

    name: str
    seen: int
    kept: int
    share: float
    dropped: Sequence[tuple[str, int, Sequence[int], Sequence[str]]]
    """Reason, count, and the first few lines and their files, where each has one; the most frequent first."""
    passed_over: Sequence[tuple[str, int]]
    fingerprint: str = ""
    """Changes when its content does."""


def corpora_of(run: RunData) -> list[CorpusFacts]:
    """The corpora of the ledger."""
    return [
        CorpusFacts(
            name=str(each.get("name", "")),
            seen=count(each.get("seen")),
            kept=count(each.get("kept")),
            share=count(each.get("kept")) / max(1, count(each.get("seen"))),
            dropped=_dropped(each.get("dropped")),
            passed_over=[(str(key), count(value)) for key, value in mapping(each.get("passed_over")).items()],
            fingerprint=text(each.get("fingerprint"), 200),
        )
        for each in run.ledger[:MOST_CORPORA]
    ]


@dataclass(frozen=True, slots=True)
class SideFacts:
    """The first examples of the stream as one vocabulary reads them."""

    name: str
    tokens: int
    unknown: int
    width: int
    """Lengths that a bin holds."""
    bins: Sequence[int]
    median: int
    longest: int

    @property
    def unknown_share(self) -> float:
        """Of the tokens, 0 to 1."""
        return self.unknown / max(1, self.tokens)

    @property
    def highest(self) -> int:
        """The largest bin, at least 1."""
        return max(1, *self.bins) if self.bins else 1


def sides_of(run: RunData) -> list[SideFacts]:
    """Source and target, or the text, of the first examples."""
    found = items(mapping(run.facts.get("examples")).get("sides"), 4)
    return [
        SideFacts(
            name=text(each.get("name"), 40),
            tokens=count(each.get("tokens")),
            unknown=count(each.get("unknown")),
            width=max(1, count(each.get("width"))),
            bins=[count(number) for number in items(each.get("bins"), MOST_BINS)],
            median=count(each.get("median")),
            longest=count(each.get("longest")),
        )
        for each in map(mapping, found)
    ]


def _dropped(reasons: Any) -> list[tuple[str, int, Sequence[int], Sequence[str]]]:
    found = [
        (str(name), count(each.get("count")), _lines(each.get("lines")), _files(each.get("files")))
        for name, each in ((name, mapping(each)) for name, each in mapping(reasons).items())
    ]
    return sorted(found, key=lambda each: -each[1])


def dropped_words(reason: str) -> str:
    """`too_long` as `too long`."""
    return reason.replace("_", " ")


def quarantined(run: RunData) -> list[dict[str, Any]]:
    """The lines of `quarantine.jsonl`, the newest first, texts cut at 500 characters."""
    return [_quarantined(each) for each in reversed(run.quarantine[-MOST_LINES:])]


def _quarantined(record: Mapping[str, Any]) -> dict[str, Any]:
    texts = {
        name: str(record.get(name, "")) for name in ("source", "target", "reason", "place", "corpus", "code")
    }
    cut = {
        name: full if len(full) <= MOST_CHARACTERS else f"{full[:MOST_CHARACTERS]} …"
        for name, full in texts.items()
    }
    loss = record.get("loss")
    return {
        **cut,
        "step": count(record.get("step")),
        "line": count(record.get("line")),
        "loss": f"{loss:.2f}" if isinstance(loss, int | float) else str(loss or "")[:20],
    }


def _lines(value: Any) -> list[int]:
    return [each for each in value if isinstance(each, int)][:5] if isinstance(value, list) else []


def _files(value: Any) -> list[str]:
    return [found for each in items(value, 5) if (found := text(each, 300))]
