"""The data ledger: what was seen of each corpus, what was kept, and what was dropped and why, with examples."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np

from trimtab.types import GlobalBatch

_MOST_LINES = 5
EMPTY_DOCUMENT = "empty document"


@runtime_checkable
class Named(Protocol):
    """A corpus, as far as it matters here."""

    @property
    def name(self) -> str:
        """What reports call it."""
        ...

    @property
    def fingerprint(self) -> str:
        """Changes when the content does."""
        ...

    @property
    def empty_documents(self) -> Sequence[int]:
        """The lines, from 0, of documents without a text."""
        ...

    @property
    def passed_over(self) -> Mapping[str, int]:
        """Units of its file that are no pairs, by reason."""
        ...

    def line_number(self, line: int) -> int:
        """The number of a line in its file, counted from 1 and with the header."""
        ...


@runtime_checkable
class NamesFiles(Protocol):
    """A corpus whose examples lie in files of their own, as images do."""

    def file_of(self, line: int) -> str:
        """The file of an example; empty for one that is drawn."""
        ...


@dataclass(slots=True)
class Reason:
    """How often something was the reason for dropping an example."""

    count: int = 0
    lines: list[int] = field(default_factory=list)
    """The first few lines it happened to, counted from 1."""
    files: list[str] = field(default_factory=list)
    """Their files, where each example has one."""

    def add(self, count: int, lines: Sequence[int], files: Sequence[str] = ()) -> None:
        """Counts more of them; a line that comes again, in another epoch, is named once."""
        self.count += count
        new = [line for line in dict.fromkeys(lines) if line not in self.lines]
        self.lines.extend(new[: _MOST_LINES - len(self.lines)])
        others = [file for file in dict.fromkeys(files) if file and file not in self.files]
        self.files.extend(others[: _MOST_LINES - len(self.files)])

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "count": self.count,
            "lines": [*self.lines],
            **({"files": [*self.files]} if self.files else {}),
        }


@dataclass(slots=True)
class CorpusLedger:
    """The counts of one corpus; what was seen was either kept or dropped."""

    name: str
    fingerprint: str
    kept: int = 0
    dropped: dict[str, Reason] = field(default_factory=dict)
    passed_over: dict[str, int] = field(default_factory=dict)
    """Units of the file that are no examples, such as those without a translation; they are not among what was seen."""

    @property
    def seen(self) -> int:
        """Examples taken from the stream."""
        return self.kept + sum(reason.count for reason in self.dropped.values())

    def drop(self, reason: str, *, count: int, lines: Sequence[int], files: Sequence[str] = ()) -> None:
        """Counts dropped examples; lines are counted from 1."""
        self.dropped.setdefault(reason, Reason()).add(count, lines, files)


@dataclass(slots=True)
class Ledger:
    """The counts of all corpora of a run, in their order."""

    corpora: list[CorpusLedger]
    line_numbers: tuple[Callable[[int], int], ...] = field(default=(), compare=False, repr=False)
    """For each corpus the number in its file, from 1, of a line, from 0."""
    files: tuple[Callable[[int], str] | None, ...] = field(default=(), compare=False, repr=False)
    """For each corpus the file of a line, from 0; None where lines have none of their own."""

    @classmethod
    def of(cls, corpora: Sequence[Named]) -> "Ledger":
        """A ledger in which nothing has been seen yet but documents without a text: they are counted here, once, since
        the stream never comes to them."""
        ledger = cls(
            [
                CorpusLedger(corpus.name, corpus.fingerprint, passed_over=dict(corpus.passed_over))
                for corpus in corpora
            ],
            tuple(corpus.line_number for corpus in corpora),
            tuple(corpus.file_of if isinstance(corpus, NamesFiles) else None for corpus in corpora),
        )
        for counts, corpus in zip(ledger.corpora, corpora, strict=True):
            if lines := corpus.empty_documents:
                counts.drop(
                    EMPTY_DOCUMENT, count=len(lines), lines=[line + 1 for line in lines[:_MOST_LINES]]
                )
        return ledger

    def add(self, window: GlobalBatch) -> None:
        """Counts a window's examples, and what was dropped on the way to its end."""
        kept = np.bincount(window.corpus, minlength=len(self.corpora))
        for corpus, count in zip(self.corpora, kept.tolist(), strict=True):
            corpus.kept += count
        for example in window.dropped:
            counts = self.corpora[example.corpus]
            known = counts.dropped.get(example.reason)
            # Only the first few are looked up.
            is_named = known is None or len(known.lines) < _MOST_LINES
            lines = [self._line_number(example.corpus, example.line)] if is_named else []
            file_of = self.files[example.corpus] if self.files and is_named else None
            files = [] if file_of is None else [file_of(example.line)]
            counts.drop(example.reason, count=1, lines=lines, files=files)

    def _line_number(self, corpus: int, line: int) -> int:
        return self.line_numbers[corpus](line) if self.line_numbers else line + 1

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as `data_ledger.json` and a checkpoint's state hold them."""
        total = max(1, sum(corpus.seen for corpus in self.corpora))
        return {
            "corpora": [
                {
                    "name": corpus.name,
                    "fingerprint": corpus.fingerprint,
                    "seen": corpus.seen,
                    "share": round(corpus.seen / total, 6),
                    "kept": corpus.kept,
                    "dropped": {
                        name: reason.to_dict()
                        # In an order of its own, so that a resumed run writes the same.
                        for name, reason in sorted(corpus.dropped.items())
                    },
                    **({"passed_over": dict(corpus.passed_over)} if corpus.passed_over else {}),
                }
                for corpus in self.corpora
            ]
        }

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> "Ledger":
        """The ledger that `to_dict` wrote down."""
        return cls([_corpus_from_dict(corpus) for corpus in plain["corpora"]])


def _corpus_from_dict(plain: dict[str, Any]) -> CorpusLedger:
    dropped = {
        name: Reason(reason["count"], list(reason["lines"]), list(reason.get("files", ())))
        for name, reason in plain["dropped"].items()
    }
    passed_over = dict(plain.get("passed_over", {}))
    return CorpusLedger(plain["name"], plain["fingerprint"], plain["kept"], dropped, passed_over)
