"""What an evaluation of documents says: scores over all sentences, and how long a reader waits for them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trimtab.config.bleu import BleuTokenizer
from trimtab.scoring.scores import Score, bleu, chrf


@dataclass(frozen=True, slots=True)
class Waits:
    """Seconds from reading a sentence to its translation, one document after another."""

    first: Sequence[float]
    """Of the first sentence of each document."""
    every: Sequence[float]
    """Of all sentences."""

    def to_dict(self) -> dict[str, float | None]:
        """Median and 90th percentile of both, in seconds; null where nothing was timed."""
        found: dict[str, float | None] = {}
        for name, waits in (("first_sentence", self.first), ("sentence", self.every)):
            for label, share in (("median", 0.5), ("p90", 0.9)):
                value = float(np.quantile(waits, share)) if len(waits) else None
                found[f"{name}_seconds_{label}"] = None if value is None else round(value, 4)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentReport:
    """How well and how soon documents are translated."""

    documents: int
    sentences: int
    bleu: Score
    chrf: Score
    chunks: int
    """Rows of several sentences that were translated at once; 0 for a model that translates one at a time."""
    misaligned: int
    """Those among them whose translation has more or fewer sentences."""
    seconds: float
    """Spent on translating all sentences, the documents side by side."""
    waits: Waits
    """Of some documents, one at a time."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values that JSON has."""
        return {
            "documents": self.documents,
            "sentences": self.sentences,
            "bleu": round(self.bleu.value, 3),
            "bleu_signature": self.bleu.signature,
            "chrf": round(self.chrf.value, 3),
            "chrf_signature": self.chrf.signature,
            "chunks": self.chunks,
            "misaligned": self.misaligned,
            "seconds": round(self.seconds, 3),
            "timed_documents": len(self.waits.first),
            "timed_sentences": len(self.waits.every),
            **self.waits.to_dict(),
        }

    def render(self) -> str:
        """A table for people, one value a line, no line break at its end."""
        waits = self.waits.to_dict()
        rows = [
            ("documents", f"{self.documents:,}", f"{self.sentences:,} sentences"),
            ("BLEU", f"{self.bleu.value:.1f}", self.bleu.signature),
            ("chrF", f"{self.chrf.value:.1f}", self.chrf.signature),
            ("chunks", f"{self.chunks:,}", f"{self.misaligned:,} with another number of sentences"),
            (
                "seconds",
                f"{self.seconds:.1f}",
                f"translating {self.sentences:,} sentences, documents side by side",
            ),
        ]
        timed = (
            ("first_sentence", "first sentence", f"{len(self.waits.first):,} documents"),
            ("sentence", "each sentence", f"{len(self.waits.every):,} sentences"),
        )
        for name, label, number in timed:
            median, late = waits[f"{name}_seconds_median"], waits[f"{name}_seconds_p90"]
            if median is not None and late is not None:
                rows.append(
                    (
                        label,
                        f"{median:.3f}",
                        f"seconds, median of {number}, one at a time; 90% within {late:.3f}",
                    )
                )
        return "\n".join(f"{name:<18}{value:>10}  {note}".rstrip() for name, value, note in rows)


def report_on_documents(
    translations: Sequence[Sequence[str]],
    references: Sequence[Sequence[str]],
    *,
    seconds: float,
    waits: Waits,
    chunks: tuple[int, int] = (0, 0),
    tokenize: BleuTokenizer = "13a",
) -> DocumentReport:
    """Scores the sentences of all documents as one set; `chunks` are how many there were, and how many of another
    length. Raises InputError on unequal or empty sets."""
    outputs = [sentence for document in translations for sentence in document]
    wanted = [sentence for document in references for sentence in document]
    return DocumentReport(
        documents=len(references),
        sentences=len(wanted),
        bleu=bleu(outputs, wanted, tokenize=tokenize),
        chrf=chrf(outputs, wanted),
        chunks=chunks[0],
        misaligned=chunks[1],
        seconds=seconds,
        waits=waits,
    )
