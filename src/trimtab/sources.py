"""The data of a run, opened: corpora, tokenizer, validation sets, and what a sample of them shows."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from trimtab.config.bleu import BleuTokenizer
from trimtab.config.corpora import ParallelFiles
from trimtab.config.run import Recipe
from trimtab.data.cache import default_cache
from trimtab.data.chunk import Feed, encode_chunk
from trimtab.data.corpus import Corpus, open_corpora
from trimtab.data.mixture import Mixture
from trimtab.data.sentencepiece_model import SentencePiece, load_tokenizer
from trimtab.data.tokenizer import adopt_tokenizer, sample_lines, train_tokenizer
from trimtab.data.transforms.apply import Pipeline, build_transforms
from trimtab.errors import InputError, Problem, input_error
from trimtab.flow import DroppedExample, Ragged
from trimtab.progress import Progress

SAMPLE_POSITIONS = 4096
"""Examples that lengths and shares are estimated from."""


@dataclass(frozen=True, slots=True)
class ValidSet:
    """A validation set as text and as ids."""

    name: str
    sources: list[str]
    references: list[str]
    tags: tuple[str, ...]
    bleu_tokenizer: BleuTokenizer
    source: Ragged
    target: Ragged
    """Ids of the pairs that fit into `max_tokens`; the loss is measured on these."""
    too_long: int
    """Pairs that do not fit; they are translated in pieces, but have no loss."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The first examples of the stream, as they will be trained on."""

    source: Ragged
    target: Ragged
    dropped: tuple[DroppedExample, ...]

    @property
    def seen(self) -> int:
        """Examples looked at."""
        return len(self.target) + len(self.dropped)


@dataclass(frozen=True, slots=True)
class Sources:
    """Everything that is read, ready to be read."""

    corpora: list[Corpus]
    tokenizer: SentencePiece
    pipeline: Pipeline
    feed: Feed
    valid: dict[str, ValidSet]
    sample: Sample

    @property
    def lengths(self) -> tuple[np.ndarray, np.ndarray]:
        """Source and target lengths of the sample."""
        return self.sample.source.lengths, self.sample.target.lengths

    @property
    def targets_per_epoch(self) -> float:
        """Target tokens of an epoch, estimated from the sample."""
        kept = len(self.sample.target) / max(1, self.sample.seen)
        return float(self.feed.mixture.examples_per_epoch * kept * self.lengths[1].mean())

    @property
    def fingerprints(self) -> dict[str, str]:
        """What must not change when a run goes on, by name."""
        data: dict[str, str] = {}
        number = -1
        for corpus in self.corpora:
            number += not corpus.is_reversed
            key = f"data.train.{number}" + (" reversed" if corpus.is_reversed else "")
            data[key] = f"{len(corpus):,} pairs, sha256 {corpus.fingerprint[:32]}"
        return {**data, "tokenizer": self.tokenizer.fingerprint}


def open_sources(recipe: Recipe, *, tokenizer_folder: Path, progress: Progress) -> Sources:
    """Opens what a recipe with absolute paths names; trains the tokenizer into its folder unless it lies there.

    Raises InputError with every file that is wrong, and where nothing is left to train on.
    """
    progress.message("reading the corpora")
    corpora, valid = open_all(recipe)
    pipeline = build_transforms(recipe.data.transforms)
    tokenizer = prepare_tokenizer(recipe, corpora, pipeline, folder=tokenizer_folder, progress=progress)
    mixture = Mixture.of(
        lengths=[len(corpus) for corpus in corpora],
        weights=[corpus.weight for corpus in corpora],
        seed=recipe.seed,
    )
    feed = Feed(corpora, pipeline, tokenizer, mixture, recipe.data.max_tokens)
    first = encode_chunk(feed, start=0, count=min(SAMPLE_POSITIONS, mixture.examples_per_epoch))
    if len(first.target) == 0:
        reasons = sorted({example.reason for example in first.dropped})
        raise input_error(
            "data.train: nothing is left to train on",
            got=f"the first {len(first.dropped)} examples were all dropped: {', '.join(reasons)}",
            allowed="at least one that is kept",
            fix="loosen data.transforms or data.max_tokens; `trimtab data inspect` shows what is dropped",
        )
    sets = {
        name: read_valid(
            name, corpus, pipeline, tokenizer, max_tokens=recipe.data.max_tokens, bleu=files.bleu_tokenizer
        )
        for (name, files), corpus in zip(recipe.data.valid.items(), valid, strict=True)
    }
    return Sources(
        corpora, tokenizer, pipeline, feed, sets, Sample(first.source, first.target, first.dropped)
    )


def open_all(recipe: Recipe) -> tuple[list[Corpus], list[Corpus]]:
    """Training corpora and validation sets; InputError with what is wrong with any of them."""
    where = {"root": Path.cwd(), "cache": default_cache()}
    problems: list[Problem] = []
    opened: list[list[Corpus]] = []
    for keys, configs in keyed_files(recipe):
        try:
            opened.append(open_corpora(configs, keys=keys, **where))
        except InputError as error:
            problems += error.problems
    for corpus in (corpus for corpora in opened for corpus in corpora if not corpus.is_reversed):
        try:
            corpus.check()
        except InputError as error:
            problems += error.problems
    if problems:
        raise InputError(*problems)
    train, valid = opened
    return train, valid


def keyed_files(recipe: Recipe) -> tuple[tuple[list[str], list[ParallelFiles]], ...]:
    """Training corpora and validation sets, each with the keys under which they stand in the recipe."""
    train, valid = recipe.data.train, recipe.data.valid
    # A single set may be written without a name, and then has this one.
    names = ["data.valid" if name == "valid" else f"data.valid.{name}" for name in valid]
    return ([f"data.train.{number}" for number in range(len(train))], list(train)), (
        names,
        list(valid.values()),
    )


def prepare_tokenizer(
    recipe: Recipe, corpora: Sequence[Corpus], pipeline: Pipeline, *, folder: Path, progress: Progress
) -> SentencePiece:
    """The run's tokenizer: the one in its folder, or the one given by the recipe, or a new one."""
    if (folder / "tokenizer.json").exists():
        return load_tokenizer(folder)
    config = recipe.data.tokenizer
    tags = [tag for corpus in (*recipe.data.train, *recipe.data.valid.values()) for tag in corpus.tags]
    tags += [tag for corpus in recipe.data.train for tag in corpus.reverse_tags]
    symbols = tuple(dict.fromkeys(tags))
    if config.path is not None:
        return adopt_tokenizer(config, folder, symbols=symbols)
    progress.message(f"training a tokenizer of {config.vocabulary_size} pieces")
    lines = sample_lines(corpora, config.training_lines, pipeline=pipeline)
    return train_tokenizer(config, lines=lines, symbols=symbols, out=folder)


def read_valid(
    name: str,
    corpus: Corpus,
    pipeline: Pipeline,
    tokenizer: SentencePiece,
    *,
    max_tokens: int,
    bleu: BleuTokenizer,
) -> ValidSet:
    """A validation set, whole: filters are not applied to it, normalisation is."""
    pairs = [corpus.pair(line) for line in range(len(corpus))]
    sources, references = [source for source, _ in pairs], [target for _, target in pairs]
    source = Ragged.of(
        tokenizer.encode_with_tags([pipeline.apply_source(line) for line in sources], corpus.tags)
    )
    target = Ragged.of(tokenizer.encode(references))
    fits = np.flatnonzero((source.lengths <= max_tokens) & (target.lengths <= max_tokens))
    return ValidSet(
        name=name,
        sources=sources,
        references=references,
        tags=corpus.tags,
        bleu_tokenizer=bleu,
        source=source.take(fits),
        target=target.take(fits),
        too_long=len(pairs) - len(fits),
    )
