"""What a quick look at the corpora shows before the first step: sides that do not belong together, lines held out in
name only."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from trimtab.data.checks import NamedPairs, quick_alignment, quick_shared, swapped_among
from trimtab.data.checks_report import drift_in_words
from trimtab.data.corpus import Corpus
from trimtab.finding import Finding

SHARED_WARNING = 0.1
"""Share of a validation set's pairs that stand in training; interface strings such as `OK` make up a few per cent."""
LEAST_SHARED = 10


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


def corpus_findings(train: Sequence[Corpus], valid: Sequence[NamedPairs]) -> Iterator[Finding]:
    """Warnings; reads a bounded number of lines, see `data.checks`."""
    yield from validation_in_training(train, valid)
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


def validation_in_training(train: Sequence[Corpus], valid: Sequence[NamedPairs]) -> Iterator[Finding]:
    """A warning for each set of which more than `SHARED_WARNING` is trained on."""
    for shared in quick_shared(train, valid):
        share = shared.pair / max(1, shared.lines)
        if share > SHARED_WARNING and shared.pair >= LEAST_SHARED:
            here, there = shared.places[0]
            yield Finding(
                code="D205",
                name="validation-in-training",
                severity="warning",
                message=f"at least {shared.pair:,} of {shared.lines:,} pairs of the set {shared.valid} stand "
                f"in the corpus {shared.train} too (bound {SHARED_WARNING:.0%}), as line {here} in line {there}",
                why="What the model has learned by heart is no measure of what it translates, and such scores choose "
                "a checkpoint that is trained too long.",
                fix="take these lines out of training; `trimtab data inspect` counts them all",
            )


def _apart(message: str, *, where: str = "") -> Finding:
    return Finding(
        code="D206",
        name="sides-apart",
        severity="warning",
        message=message,
        why="A model that is shown sentences beside others' translations learns to ignore the source.",
        fix="look at the lines there and some before: one is lost, doubled or broken in two on one side; "
        "`trimtab data inspect` looks at every line",
        where=where,
    )
