"""What a quick look at the corpora shows before the first step: sides that do not belong together, lines held out in
name only."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from trimtab.data.alignment import quick_lines
from trimtab.data.checks import QUICK_LINES, NamedPairs, quick_alignment, quick_shared, swapped_among
from trimtab.data.checks_report import drift_in_words
from trimtab.data.corpus import Corpus
from trimtab.data.inspection_report import COPIES
from trimtab.finding import Finding
from trimtab.run_findings.data import (
    LINE_OUT_OF_ALL_PROPORTION,
    NUL_IN_TEXT,
    SIDES_APART,
    TARGET_COPIES_SOURCE,
    VALIDATION_IN_TRAINING,
)

SHARED_WARNING = 0.1
"""Share of a validation set's pairs that are in the training data; interface strings such as `OK` make up a few per
cent."""
LEAST_SHARED = 10
OUT_OF_ALL_PROPORTION = 2**18
"""Bytes of a line that is no sentence; the index knows how long lines are, so nothing of it is read."""
MOST_PLACES = 5
COPY_LINES = 1000
"""Lines of each corpus that are looked at for copies."""
COPIED_SENTENCES, LEAST_COPIED = 0.05, 5
"""Share of the sentences that may be copies, and copies without which nothing is said."""
SENTENCE_WORDS, SENTENCE_CHARACTERS = 5, 25


@dataclass(frozen=True, slots=True)
class ListedPairs:
    """A validation set in memory."""

    name: str
    tags: tuple[str, ...]
    sources: Sequence[str]
    references: Sequence[str]

    def __len__(self) -> int:
        return len(self.sources)

    def pair(self, line: int) -> tuple[str, str]:
        """Source and reference."""
        return self.sources[line], self.references[line]

    def several(self, lines: Sequence[int]) -> Iterator[tuple[str, str]]:
        """What `pair` gives for each of these lines."""
        return map(self.pair, lines)


def corpus_findings(train: Sequence[Corpus], valid: Sequence[NamedPairs]) -> Iterator[Finding]:
    """Warnings; reads a bounded number of lines, see `data.checks`."""
    yield from validation_in_training(train, valid)
    yield from lines_out_of_proportion(train)
    yield from lines_with_zeros(train)
    yield from copies(train)
    for corpus in train:
        if corpus.is_reversed or corpus.is_monolingual:
            continue
        alignment = quick_alignment(corpus)
        if alignment.drift is not None:
            yield _apart(
                f"{corpus.name}: {drift_in_words(alignment.drift)} (of {alignment.lines:,} looked at)",
                where=alignment.where,
            )
    for each in swapped_among(train, valid):
        yield _apart(f"{each.name}: source and target seem to be exchanged, compared with {each.other}")


def copies(train: Sequence[Corpus]) -> Iterator[Finding]:
    """A warning for each corpus of two languages in which most targets are their sources, or more than a few where the
    source is a sentence. Names and labels may be the same in both languages; a twentieth of copied sentences already
    teaches a translator to copy (Khayrallah and Koehn 2018, arXiv 1805.12282)."""
    for corpus in train:
        lines = quick_lines(len(corpus), most=COPY_LINES)
        if corpus.is_reversed or corpus.is_monolingual or not lines:
            continue
        pairs = [*zip(lines, corpus.several(lines), strict=True)]
        sentences = [(line, pair) for line, pair in pairs if is_sentence(pair[0])]
        for few, what, bound in ((pairs, "pairs", COPIES), (sentences, "sentences", COPIED_SENTENCES)):
            same = [line for line, pair in few if corpus.is_copy(*pair)]
            if len(same) > bound * len(few) and len(same) >= LEAST_COPIED:
                yield TARGET_COPIES_SOURCE.found(
                    f"{corpus.name}: source is target in {len(same):,} of {len(few):,} {what} (bound {bound:.0%})",
                    where=corpus.place(same[0]),
                )
                break


def is_sentence(text: str) -> bool:
    """Whether a text is too long for a name or a label; scripts without spaces are judged by their length."""
    return len(text.split()) >= SENTENCE_WORDS or (
        " " not in text.strip() and len(text) >= SENTENCE_CHARACTERS
    )


def validation_in_training(train: Sequence[Corpus], valid: Sequence[NamedPairs]) -> Iterator[Finding]:
    """A warning for each set of which more than `SHARED_WARNING` is trained on."""
    for shared in quick_shared(train, valid):
        share = shared.pair / max(1, shared.lines)
        if share > SHARED_WARNING and shared.pair >= LEAST_SHARED:
            here, there = shared.places[0]
            yield not_held_out(
                f"at least {shared.pair:,} of {shared.lines:,} pairs of the set {shared.valid} are also in the corpus "
                f"{shared.train} (limit {SHARED_WARNING:.0%}), for example line {here} as line {there}",
                fix="remove these lines from the training data; `trimtab data inspect` counts them all",
            )


def not_held_out(message: str, *, fix: str, where: str = "") -> Finding:
    """The warning about pairs that are in both validation and training data."""
    return VALIDATION_IN_TRAINING.found(message, fix=fix, where=where)


def lines_out_of_proportion(train: Sequence[Corpus]) -> Iterator[Finding]:
    """A warning for each corpus with lines of more than `OUT_OF_ALL_PROPORTION` bytes: every line is looked at."""
    for corpus in (corpus for corpus in train if not corpus.is_reversed):
        if not (lines := corpus.longer_than(OUT_OF_ALL_PROPORTION)):
            continue
        longest = max(lines, key=corpus.num_bytes)
        places = ", ".join(str(line + 1) for line in lines[:MOST_PLACES])
        yield LINE_OUT_OF_ALL_PROPORTION.found(
            f"{corpus.name}: {len(lines):,} line{'s' * (len(lines) > 1)} of more than "
            f"{OUT_OF_ALL_PROPORTION:,} bytes ({places}{', ...' * (len(lines) > MOST_PLACES)}); "
            f"line {longest + 1} has {corpus.num_bytes(longest):,}",
            where=corpus.place(longest),
        )


def lines_with_zeros(train: Sequence[Corpus]) -> Iterator[Finding]:
    """A warning for each corpus with NULs in those of its lines that are looked at, `QUICK_LINES` at most."""
    for corpus in (corpus for corpus in train if not corpus.is_reversed):
        looked_at = quick_lines(len(corpus), most=QUICK_LINES)
        pairs = zip(looked_at, corpus.several(looked_at), strict=True)
        if not (lines := [line for line, (source, target) in pairs if "\0" in source or "\0" in target]):
            continue
        places = ", ".join(str(line + 1) for line in lines[:MOST_PLACES])
        yield NUL_IN_TEXT.found(
            f"{corpus.name}: {len(lines):,} of {len(looked_at):,} lines looked at "
            f"ha{'ve' if len(lines) > 1 else 's'} a NUL in {'them' if len(lines) > 1 else 'it'} "
            f"({places}{', ...' * (len(lines) > MOST_PLACES)})",
            where=corpus.place(lines[0]),
        )


def _apart(message: str, *, where: str = "") -> Finding:
    return SIDES_APART.found(message, where=where)
