"""What the filters of a recipe drop of its corpora, line by line: counts, examples, and files of what is kept."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any

from trimtab.config.corpora import TrainCorpus
from trimtab.data.clean_report import UNREADABLE, CleanedCorpus, CleanReport
from trimtab.data.corpus import Corpus
from trimtab.data.formats.text import text_of
from trimtab.data.inspection_report import MOST_EXAMPLES, Example, Reason, example
from trimtab.data.kept_files import CorpusFiles, folder_names
from trimtab.data.transforms.apply import EMPTY_SOURCE, EMPTY_TARGET, Dropped, FilterStep, LineStep, Pipeline
from trimtab.errors import InputError

_BLOCK = 4096
"""Lines that are read at once."""

Unreadable = Callable[[int, InputError], None]


def clean_corpora(
    corpora: Sequence[Corpus],
    configs: Sequence[TrainCorpus],
    pipeline: Pipeline,
    *,
    folder: Path | None = None,
    out: str | None = None,
    report: Callable[[str], None] = lambda text: None,
) -> CleanReport:
    """Reads every line of every corpus once, one that is read both ways as it is in its files, and counts what the
    pipeline drops and why; lines that cannot be read are dropped too.

    With a `folder` the kept pairs are written into it as the files have them, and what each reason dropped beside them;
    the report calls it `out`. `configs` say how the files are named, one for each corpus that is not read backwards.
    """
    forward = [number for number, corpus in enumerate(corpora) if not corpus.is_reversed]
    folders = folder_names([corpora[number].name for number in forward])
    cleaned: list[CleanedCorpus] = []
    for number, config, name in zip(forward, configs, folders, strict=True):
        corpus = corpora[number]
        report(f"cleaning {corpus.name}: {len(corpus):,} pairs")
        with ExitStack() as stack:
            files = None if folder is None else stack.enter_context(CorpusFiles(folder / name, config))
            tally = _Tally(corpus, files)
            for place, problem in corpus.broken_documents:
                tally.leave_out(UNREADABLE, place, (problem.what, problem.got), raw="")
            for line, pair in readable_lines(corpus, tally.unreadable):
                outcome = pipeline.of(number).apply(*pair, line=line)
                if isinstance(outcome, Dropped):
                    tally.drop(outcome.reason, line, pair)
                else:
                    tally.keep(line, pair)
        train_on = (
            {} if files is None else {**files.train_on, **_paths(files, f"{out}/{name}"), **files.settings}
        )
        cleaned.append(tally.summary(_reasons(pipeline.of(number)), train_on))
    return CleanReport(corpora=tuple(cleaned), out=out)


def readable_lines(corpus: Corpus, unreadable: Unreadable) -> Iterator[tuple[int, tuple[str, str]]]:
    """The pairs of a corpus with their lines, from 0; `unreadable` gets those that cannot be read, or whose word
    alignments do not fit, with the error."""
    for start in range(0, len(corpus), _BLOCK):
        block = range(start, min(start + _BLOCK, len(corpus)))
        try:
            pairs = list(corpus.several(block))
            if (alignments := corpus.alignments) is not None:
                for line, pair in zip(block, pairs, strict=True):
                    alignments.check(line, pair)
        except InputError:
            yield from _one_by_one(corpus, block, unreadable)
        else:
            yield from zip(block, pairs, strict=True)


def _one_by_one(
    corpus: Corpus, lines: Sequence[int], unreadable: Unreadable
) -> Iterator[tuple[int, tuple[str, str]]]:
    for line in lines:
        try:
            pair = corpus.pair(line)
            if corpus.alignments is not None:
                corpus.alignments.check(line, pair)
        except InputError as error:
            unreadable(line, error)
        else:
            yield line, pair


def _paths(files: CorpusFiles, folder: str) -> dict[str, str]:
    """The files in a folder, by the keys of `data.train`."""
    return {key: str(PurePath(folder, name)) for key, name in files.train_on.items() if name in files.names}


def _reasons(pipeline: Pipeline) -> list[str]:
    """What a pipeline may drop a pair for, in the order in which it looks."""
    filters = [step.reason for step in pipeline.steps if isinstance(step, FilterStep | LineStep)]
    return list(dict.fromkeys([EMPTY_SOURCE, EMPTY_TARGET, *filters]))


@dataclass(slots=True)
class _Tally:
    """What is counted of a corpus."""

    corpus: Corpus
    files: CorpusFiles | None
    kept: int = 0
    dropped: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    examples: dict[str, list[Example]] = field(default_factory=lambda: defaultdict(list))

    def keep(self, line: int, pair: tuple[str, str]) -> None:
        self.kept += 1
        if self.files is not None:
            alignments = self.corpus.alignments
            links = None if alignments is None else text_of(alignments.lines, line)
            self.files.keep(self.corpus.place(line), pair, links=links)

    def drop(self, reason: str, line: int, pair: tuple[str, str]) -> None:
        self.leave_out(reason, self.corpus.line_number(line), pair)

    def leave_out(self, reason: str, place: int, pair: tuple[str, str], *, raw: str | None = None) -> None:
        """The same by the line in the file, from 1; `raw` is that of a line that cannot be read."""
        self.dropped[reason] += 1
        if len(self.examples[reason]) < MOST_EXAMPLES:
            self.examples[reason].append(example(place, *pair))
        if self.files is not None:
            self.files.drop(reason, place, pair, raw=raw)

    def unreadable(self, line: int, error: InputError) -> None:
        """Drops a line whose error stands for its text."""
        problem = error.problems[0]
        place, raw = self.corpus.line_number(line), self.corpus.raw_text(line)
        self.leave_out(UNREADABLE, place, (problem.what, problem.got), raw=raw)

    def summary(self, reasons: Sequence[str], train_on: dict[str, Any]) -> CleanedCorpus:
        """Every reason in its order, those too that dropped nothing."""
        names = [*([UNREADABLE] if UNREADABLE in self.dropped else []), *reasons]
        names += [reason for reason in self.dropped if reason not in names]
        return CleanedCorpus(
            name=self.corpus.name,
            pairs=self.kept + sum(self.dropped.values()),
            kept=self.kept,
            dropped={name: Reason(self.dropped[name], tuple(self.examples[name])) for name in names},
            train_on=train_on,
            passed_over=self.corpus.passed_over,
        )
