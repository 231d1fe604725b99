"""Documents of a validation set that a language model is trained on too, found before the first step."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from trimtab.data.alignment import quick_lines
from trimtab.data.corpus import Corpus
from trimtab.data.corpus_findings import SHARED_WARNING, not_held_out
from trimtab.data.formats.passages import Passages
from trimtab.data.scan import digest
from trimtab.finding import Finding

LEAST_CHARACTERS = 60
"""Shorter passages, such as a heading, come again by chance and do not count."""
MOST_PASSAGES = 20_000
"""Passages of a corpus, and of a validation set, that are read at most: some seconds."""


def documents_in_training(train: Sequence[Corpus], valid: Mapping[str, Corpus]) -> Iterator[Finding]:
    """A warning for each validation set and corpus that share more than `SHARED_WARNING` of its passages.

    Passages of other lengths than those of the set are taken for others and are not read, so that a large corpus is
    looked through whole where the set is small. Corpora of pairs are left out.
    """
    for name, held in valid.items():
        known, read = _held(held)
        for corpus in (corpus for corpus in train if corpus.has_documents):
            shared = _shared(known, held, corpus)
            if shared and len(shared) > SHARED_WARNING * read:
                yield _found(name, corpus, shared=shared, read=read, held=held)


def _held(held: Corpus) -> tuple[dict[int, int], int]:
    """The line of each passage of a set by the digest of its text, and how many were read that count."""
    found: dict[int, int] = {}
    read = 0
    for line in quick_lines(len(held), most=MOST_PASSAGES):
        text = held.passage(line).text.strip()
        if len(text) >= LEAST_CHARACTERS:
            read += 1
            found.setdefault(digest(text), line)
    return found, read


def _shared(known: Mapping[int, int], held: Corpus, corpus: Corpus) -> dict[int, int]:
    """Lines of the set with the line of the corpus that has the same passage."""
    lines = _candidates([*known.values()], held, corpus)
    found: dict[int, int] = {}
    for line in lines.tolist():
        at = known.get(digest(corpus.passage(line).text.strip()))
        if at is not None:
            found.setdefault(at, line)
    return found


def _candidates(lines: Sequence[int], held: Corpus, corpus: Corpus) -> np.ndarray:
    """Passages of the corpus that may be among these of the set; where there are too many, some of them, spread
    evenly."""
    assert isinstance(held.pairs, Passages)
    assert isinstance(corpus.pairs, Passages)
    if held.pairs.documents.kind == corpus.pairs.documents.kind:  # each counts bytes in its own way
        found = np.flatnonzero(np.isin(corpus.pairs.sizes, held.pairs.sizes[list(lines)]))
    else:
        found = np.arange(len(corpus))
    few = (
        np.linspace(0, len(found) - 1, MOST_PASSAGES).astype(np.int64) if len(found) > MOST_PASSAGES else None
    )
    return found if few is None else found[few]


def _found(name: str, corpus: Corpus, *, shared: Mapping[int, int], read: int, held: Corpus) -> Finding:
    here, there = min(shared.items())
    return not_held_out(
        f"at least {len(shared):,} of {read:,} passages of the set {name} are also in the corpus {corpus.name} "
        f"(limit {SHARED_WARNING:.0%}), for example {held.place(here)} as {corpus.place(there)}",
        fix="remove these documents from the training data, or hold out others",
        where=corpus.place(there),
    )
