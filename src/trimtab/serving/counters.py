"""What a server has done so far: counts and times for `/health`, of a fixed size."""

import threading
import time
from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Any

REMEMBERED = 1000
"""Requests whose times make up the percentiles."""


@dataclass(slots=True)
class Counters:
    """Counts of the event loop and of the model's thread."""

    started: float = field(default_factory=time.monotonic)
    requests: int = 0
    running: int = 0
    answers: Counter[int] = field(default_factory=Counter[int])
    """By status; the statuses are few."""
    disconnected: int = 0
    """Clients that left before their answer was there."""
    batches: int = 0
    lines: int = 0
    """Lines, or texts, that the model has taken."""
    tokens: int = 0
    model_s: float = 0.0
    """Time that the model computed."""
    _latest: deque[float] = field(default_factory=lambda: deque[float](maxlen=REMEMBERED))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def answered(self, status: int, *, seconds: float) -> None:
        """One request more, from its last byte to the last byte of its answer."""
        self.answers[status] += 1
        if status == 200:
            self._latest.append(seconds)

    def batch(self, *, lines: int, tokens: int) -> None:
        """One batch more; called by the model's thread before it begins, so that whoever has an answer finds it
        counted."""
        with self._lock:
            self.batches += 1
            self.lines += lines
            self.tokens += tokens

    def computed(self, seconds: float) -> None:
        """How long the model took for a batch; called by its thread."""
        with self._lock:
            self.model_s += seconds

    def to_dict(self) -> dict[str, Any]:
        """Plain values, times in seconds."""
        times = sorted(self._latest)
        with self._lock:
            return {
                "uptime_s": round(time.monotonic() - self.started, 1),
                "requests": {
                    "received": self.requests,
                    "running": self.running,
                    "disconnected": self.disconnected,
                    "answered": {str(status): count for status, count in sorted(self.answers.items())},
                },
                "latency_s": {
                    name: round(percentile(times, share), 4) for name, share in (("p50", 0.5), ("p95", 0.95))
                },
                "batches": self.batches,
                "lines": self.lines,
                "tokens": self.tokens,
                "lines_per_batch": round(self.lines / self.batches, 2) if self.batches else 0.0,
                "model_s": round(self.model_s, 2),
            }


def percentile(ordered: list[float], share: float) -> float:
    """The value below which this share of ordered ones lies; 0 where there are none."""
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0
