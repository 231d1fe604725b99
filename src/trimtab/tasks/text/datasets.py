"""The data of a run on text, opened: corpora, tokenizers, validation sets, and what a sample of them shows."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from trimtab.config.data import DataConfig
from trimtab.config.run import Recipe
from trimtab.data.cache import default_cache
from trimtab.data.chunk import MakesChunks
from trimtab.data.corpus import Corpus, open_corpora
from trimtab.data.stages import Stages, plan_stages
from trimtab.data.stored_tokenizer import AnyTokenizer
from trimtab.data.stream_sample import Sample, first_examples
from trimtab.data.text_rows import PASSAGES
from trimtab.data.tokenizers import Tokenizers
from trimtab.data.transforms.apply import Pipeline
from trimtab.data.transforms.plan import plan_transforms
from trimtab.data.valid_set import ValidSet
from trimtab.errors import InputError, Problem
from trimtab.progress import Progress
from trimtab.tasks.recipe_files import keyed_files
from trimtab.types import Ragged
from trimtab.units import counted

REMOVES_LINES = "`trimtab data clean RECIPE --out DIR` removes all such lines"
"""What helps where one line of many cannot be read as a pair."""


@dataclass(frozen=True, slots=True)
class TextDatasets:
    """Everything that is read, ready to be read."""

    corpora: list[Corpus]
    tokenizers: Tokenizers
    pipeline: Pipeline
    feed: MakesChunks
    """Of the first stage; `stages` has the mixtures of the others."""
    stages: Stages
    valid: dict[str, ValidSet]
    sample: Sample

    @property
    def tokenizer(self) -> AnyTokenizer:
        """The target's tokenizer, which is also the source's where they share one."""
        return self.tokenizers.target

    @property
    def lengths(self) -> tuple[np.ndarray, np.ndarray]:
        """Source and target lengths of the sample."""
        return self.sample.source.lengths, self.sample.target.lengths

    @property
    def targets_per_epoch(self) -> float:
        """Target tokens of an epoch, estimated from the sample."""
        looked_at = self.sample.positions or self.sample.seen
        return float(self.feed.mixture.examples_per_epoch * self.sample.targets / max(1, looked_at))

    @property
    def tokens_per_target(self) -> float:
        """1: a target is a token."""
        return 1.0

    @property
    def slots_per_target(self) -> float:
        """Target tokens of the sample for each of them that counts in the loss; 1 without context, and where the few
        that are given fit into the slack of the packs."""
        share = int(self.sample.target.offsets[-1]) / max(1, self.sample.targets)
        return 1.0 if share <= self.feed.within_slack else share

    @property
    def fingerprints(self) -> dict[str, str]:
        """What must not change when a run resumes, by name; and the validation sets, whose scores are compared."""
        data: dict[str, str] = {}
        number = -1
        for corpus in self.corpora:
            number += not corpus.is_reversed
            key = f"data.train.{number}" + (" reversed" if corpus.is_reversed else "")
            # Their size follows from this and from settings that the recipe's fingerprints name.
            held = f"{len(corpus):,} pairs"
            if corpus.has_documents:
                held = f"documents in passages of {PASSAGES}"
            if corpus.learns_answers:
                held = f"{len(corpus):,} conversations"
            data[key] = f"{held}, sha256 {corpus.fingerprint[:32]}"
        data |= {f"data.valid.{name}": valid.fingerprint for name, valid in self.valid.items()}
        more = (self.feed.fingerprints, self.tokenizers.fingerprints, self.pipeline.fingerprints)
        return {name: mark for marks in (data, *more) for name, mark in marks.items()}

    @property
    def positions_per_epoch(self) -> int:
        """How far an epoch moves the stream's position."""
        return self.feed.mixture.examples_per_epoch * self.feed.parts_per_position

    @property
    def epoch_size(self) -> str:
        """An epoch in words: so many pairs, or passages where there are documents."""
        what = "passage" if any(corpus.has_documents for corpus in self.corpora) else "pair"
        return counted(self.feed.mixture.examples_per_epoch, what)


@dataclass(frozen=True, slots=True)
class Side:
    """What is read with one vocabulary."""

    name: str
    """What findings call it."""
    tokenizer: AnyTokenizer
    rows: Ragged
    """Ids of the first examples."""
    key: str
    """Where the recipe says what the tokenizer is."""
    in_pair: int
    """Which of the two texts of a pair is read with it."""


@dataclass(frozen=True, slots=True)
class Reader:
    """What turns text into ids, once the corpora are open."""

    pipeline: Pipeline
    tokenizers: Tokenizers
    feed: MakesChunks


@dataclass(frozen=True, slots=True, kw_only=True)
class TextKind:
    """What differs between the tasks on text."""

    one_row: bool
    """Whether source and target share one row, `max_tokens` and a vocabulary."""
    rows_end: bool
    """Whether every row ends with the end symbol; a document that continues in another row does not."""
    passage_bytes: Callable[[DataConfig], int | None]
    """How long a passage of a document may be, where the task reads documents in passages."""
    prepare_tokenizers: Callable[..., Tokenizers]
    """`(config, corpora, pipeline, *, folder, progress)`: those of the run, trained where they are not there yet."""
    plan_feed: Callable[[Recipe, list[Corpus], Pipeline, Tokenizers, Stages], MakesChunks]
    """What turns positions of the stream into ids, by the mixture of the first stage."""
    read_valid: Callable[..., ValidSet]
    """`(name, corpus, reader, *, max_tokens, bleu)`: a validation set, whole."""
    sides: Callable[[TextDatasets], list[Side]]
    """The vocabularies, each with the ids of its first examples."""


def open_datasets(
    kind: TextKind, recipe: Recipe, *, tokenizer_folder: Path, progress: Progress
) -> TextDatasets:
    """Opens what a recipe with absolute paths names; trains the tokenizer into its folder unless it lies there.

    Raises InputError with every file that is wrong, and where nothing is left to train on.
    """
    progress.message("reading the corpora")
    corpora, valid = open_all(recipe, passage_bytes=kind.passage_bytes(recipe.data))
    pipeline = plan_transforms(
        recipe.data.transforms,
        corpora,
        cache=default_cache(),
        report=progress.message,
        columns=recipe.data.factor_columns,
    )
    tokenizers = kind.prepare_tokenizers(
        recipe.data, corpora, pipeline, folder=tokenizer_folder, progress=progress
    )
    stages = plan_stages(recipe.data, corpora, seed=recipe.data_seed)
    feed = kind.plan_feed(recipe, corpora, pipeline, tokenizers, stages)
    sample = first_examples(feed, stages)
    reader = Reader(pipeline, tokenizers, feed)
    sets = {
        name: kind.read_valid(
            name, corpus, reader, max_tokens=recipe.data.max_tokens, bleu=files.bleu_tokenizer
        )
        for (name, files), corpus in zip(recipe.data.valid.items(), valid, strict=True)
    }
    return TextDatasets(corpora, tokenizers, pipeline, feed, stages, sets, sample)


def open_all(
    recipe: Recipe, *, passage_bytes: int | None, check: Callable[[Corpus], None] = Corpus.check
) -> tuple[list[Corpus], list[Corpus]]:
    """Training corpora and validation sets; InputError with what is wrong with any of them.

    `check` reads a corpus, and raises InputError with what is wrong in it: a sample of the lines by default.
    """
    where: dict[str, Any] = {"root": Path.cwd(), "cache": default_cache(), "passage_bytes": passage_bytes}
    problems: list[Problem] = []
    opened: list[list[Corpus]] = [[], []]
    for place, (keys, configs) in enumerate(keyed_files(recipe)):
        try:
            opened[place] = open_corpora(configs, keys=keys, **where)
        except InputError as error:
            problems += error.problems
    train, valid = opened
    for corpora, may_clean in ((train, _may_clean(recipe)), (valid, False)):
        for corpus in (each for each in corpora if not each.is_reversed):
            try:
                check(corpus)
            except InputError as error:
                removable = may_clean and not corpus.has_documents
                problems += map(_removable, error.problems) if removable else error.problems
    if problems:
        raise InputError(*problems)
    return train, valid


def _may_clean(recipe: Recipe) -> bool:
    """Whether `trimtab data clean` leaves out lines of the training corpora that cannot be read: it refuses source
    factors, and leaves validation sets alone."""
    return not any(each.factors or each.factor_separator for each in recipe.data.train)


def _removable(problem: Problem) -> Problem:
    """The problem, with the command that leaves its line out among the fixes: converting the encoding of a whole file
    would spoil its other lines."""
    return replace(problem, fix=f"{problem.fix}; {REMOVES_LINES}" if problem.fix else REMOVES_LINES)
