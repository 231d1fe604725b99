"""How well a run translates documents: scores over all sentences, and how long a reader waits for them."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trimtab.config.corpora import ParallelFiles
from trimtab.data.cache import default_cache
from trimtab.data.corpus import open_corpus
from trimtab.data.formats.documents import DocumentPairs
from trimtab.decode.search import Search
from trimtab.inference import Translator, open_model
from trimtab.metrics.bleu import bleu, bleu_metric
from trimtab.metrics.chrf import chrf
from trimtab.metrics.metric import BleuTokenizer, Score

TIMED_DOCUMENTS, TIMED_SENTENCES = 12, 10
"""How many documents, and how much of each, are translated one at a time to see how long a reader waits."""
SIDE_BY_SIDE = 128
"""Documents translated together; as many of them at a time as a batch holds."""


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


def evaluate_documents(
    run: Path | str,
    *,
    documents: Path | str,
    source: str = "src",
    target: str = "tgt",
    beam: int = 4,
    tags: Sequence[str] = (),
    bleu_tokenizer: BleuTokenizer = "13a",
) -> DocumentReport:
    """Translates a JSONL file of documents with a run, sentence by sentence where it was trained so, and scores it.

    `source` and `target` name the two lists of sentences. Scores and seconds are of all sentences, the documents side
    by side; how long a reader waits is measured before on a few of them, one at a time. Raises InputError as
    `evaluate` does.
    """
    bleu_metric(bleu_tokenizer)  # fails before the work where a library is missing
    files = ParallelFiles(source=source, target=target, documents=str(documents))
    pairs = open_corpus(files, root=Path.cwd(), cache=default_cache()).pairs
    assert isinstance(pairs, DocumentPairs)
    read = [pairs.document(number) for number in range(pairs.num_documents)]
    sources, references = ([[pair[side] for pair in document] for document in read] for side in (0, 1))
    translator = open_model(run).translator(search=Search(beam=beam), tags=tuple(tags))
    waits = waits_of(translator, [document[:TIMED_SENTENCES] for document in sources[:TIMED_DOCUMENTS]])
    chunks = translator.counts.chunks, translator.counts.misaligned
    started = time.perf_counter()
    outputs = list(translator.translate_documents(sources, side_by_side=SIDE_BY_SIDE))
    return report_on_documents(
        outputs,
        references,
        seconds=time.perf_counter() - started,
        waits=waits,
        chunks=(translator.counts.chunks - chunks[0], translator.counts.misaligned - chunks[1]),
        tokenize=bleu_tokenizer,
    )


def waits_of(translator: Translator, documents: Sequence[Sequence[str]]) -> Waits:
    """How long each sentence takes from being read to being translated, one document at a time, after a first one
    that is not counted."""
    first: list[float] = []
    every: list[float] = []
    for document in [*documents[:1], *documents]:
        read: list[float] = []

        def noted(document: Sequence[str] = document, read: list[float] = read) -> Iterator[str]:
            for sentence in document:
                read.append(time.perf_counter())
                yield sentence

        found: list[float] = []
        for _ in translator.stream_documents([noted()]):
            found.append(time.perf_counter() - read[len(found)])
        first.extend(found[:1])
        every.extend(found)
    skipped = len(documents[0]) if documents else 0
    return Waits(first[min(1, skipped) :], every[skipped:])


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
