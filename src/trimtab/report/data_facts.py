"""What went into a run and what did not: the ledger of its data, and the lines in quarantine."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trimtab.report.run_data import RunData

MOST_LINES = 100
"""Quarantined lines that are shown."""
MOST_CHARACTERS = 500
MOST_CORPORA = 100


@dataclass(frozen=True, slots=True)
class CorpusFacts:
    """One corpus of the run."""

    name: str
    seen: int
    kept: int
    share: float
    dropped: Sequence[tuple[str, int, Sequence[int]]]
    """Reason, count, and the first few lines, the most frequent first."""
    passed_over: Sequence[tuple[str, int]]


def corpora_of(run: RunData) -> list[CorpusFacts]:
    """The corpora of the ledger."""
    return [
        CorpusFacts(
            name=str(each.get("name", "")),
            seen=_count(each.get("seen")),
            kept=_count(each.get("kept")),
            share=_count(each.get("kept")) / max(1, _count(each.get("seen"))),
            dropped=_dropped(each.get("dropped")),
            passed_over=[
                (str(key), _count(value)) for key, value in _mapping(each.get("passed_over")).items()
            ],
        )
        for each in run.ledger[:MOST_CORPORA]
    ]


def _dropped(reasons: Any) -> list[tuple[str, int, Sequence[int]]]:
    found = [
        (str(name), _count(_mapping(each).get("count")), _lines(_mapping(each).get("lines")))
        for name, each in _mapping(reasons).items()
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
        name: text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]} …"
        for name, text in texts.items()
    }
    loss = record.get("loss")
    return {
        **cut,
        "step": _count(record.get("step")),
        "line": _count(record.get("line")),
        "loss": f"{loss:.2f}" if isinstance(loss, int | float) else str(loss or "")[:20],
    }


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _lines(value: Any) -> list[int]:
    return [each for each in value if isinstance(each, int)][:5] if isinstance(value, list) else []


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
