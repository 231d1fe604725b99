"""The data of a run, opened: corpora, tokenizer, validation sets, and what a sample of them shows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from trimtab.config.bleu import BleuTokenizer
from trimtab.config.corpora import ParallelFiles
from trimtab.config.run import Recipe
from trimtab.data.cache import default_cache
from trimtab.data.chunk import Feed
from trimtab.data.context import plan_contexts
from trimtab.data.corpus import Corpus, open_corpora
from trimtab.data.exact_text import ExactText
from trimtab.data.noises import plan_noises
from trimtab.data.sentencepiece_model import SentencePiece
from trimtab.data.stages import Stages, plan_stages
from trimtab.data.subword_sampling import plan_sampling
from trimtab.data.text_rows import (
    PASSAGES,
    TextFeed,
    no_source,
    pair_row,
    passage_bytes,
    rows_of_passages,
)
from trimtab.data.text_tokenizers import SEPARATOR, prepare_text_tokenizers
from trimtab.data.tokenizers import Tokenizers, prepare_tokenizers
from trimtab.data.transforms.apply import Pipeline, build_transforms
from trimtab.errors import InputError, Problem, input_error
from trimtab.flow import DroppedExample, Ragged
from trimtab.progress import Progress

SAMPLE_POSITIONS = 4096
"""Examples that lengths and shares are estimated from."""
SAMPLE_PASSAGES = 1024
"""The same where they are passages of documents."""
WITHIN_SLACK = 1.02
"""Rows that go on with a document are given one token each; a pack has room for a twentieth more than its share."""


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
    prompt: np.ndarray | None = None
    """For each row of a language model, how many leading target tokens do not count, int32; None for none."""
    num_bytes: int = 0
    """Bytes of UTF-8 of the text whose loss is measured, where it is a language model's."""

    @property
    def targets(self) -> int:
        """Target tokens that count in the loss."""
        return int(self.target.offsets[-1]) - (0 if self.prompt is None else int(self.prompt.sum()))


@dataclass(frozen=True, slots=True)
class Sample:
    """The first examples of the stream, or of each stage, as they will be trained on."""

    source: Ragged
    target: Ragged
    dropped: tuple[DroppedExample, ...]
    prompt: np.ndarray | None = None
    """For each example, how many leading target tokens do not count in the loss; None for none."""
    positions: int = 0
    """Positions of the stream that were looked at, where they are passages and not examples; 0 says as many as
    examples were seen."""

    @property
    def targets(self) -> int:
        """Target tokens that count in the loss."""
        return int(self.target.offsets[-1]) - (0 if self.prompt is None else int(self.prompt.sum()))

    @property
    def seen(self) -> int:
        """Examples looked at."""
        return len(self.target) + len(self.dropped)


@dataclass(frozen=True, slots=True)
class Sources:
    """Everything that is read, ready to be read."""

    corpora: list[Corpus]
    tokenizers: Tokenizers
    pipeline: Pipeline
    feed: Feed | TextFeed
    """Of the first stage; `stages` has the mixtures of the others."""
    stages: Stages
    valid: dict[str, ValidSet]
    sample: Sample

    @property
    def tokenizer(self) -> SentencePiece:
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
    def slots_per_target(self) -> float:
        """Target tokens of the sample for each of them that counts in the loss; 1 without context, and where the few
        that are given fit into the slack of the packs."""
        share = int(self.sample.target.offsets[-1]) / max(1, self.sample.targets)
        return 1.0 if isinstance(self.feed, TextFeed) and share <= WITHIN_SLACK else share

    @property
    def fingerprints(self) -> dict[str, str]:
        """What must not change when a run goes on, by name."""
        data: dict[str, str] = {}
        number = -1
        for corpus in self.corpora:
            number += not corpus.is_reversed
            key = f"data.train.{number}" + (" reversed" if corpus.is_reversed else "")
            # Their size follows from this and from settings that the recipe's fingerprints name.
            held = (
                f"documents in passages of {PASSAGES}" if corpus.has_documents else f"{len(corpus):,} pairs"
            )
            data[key] = f"{held}, sha256 {corpus.fingerprint[:32]}"
        return {**data, **self.tokenizers.fingerprints}


def open_sources(recipe: Recipe, *, tokenizer_folder: Path, progress: Progress) -> Sources:
    """Opens what a recipe with absolute paths names; trains the tokenizer into its folder unless it lies there.

    Raises InputError with every file that is wrong, and where nothing is left to train on.
    """
    progress.message("reading the corpora")
    corpora, valid = open_all(recipe)
    pipeline = build_transforms(recipe.data.transforms)
    prepare = prepare_text_tokenizers if recipe.is_language_model else prepare_tokenizers
    tokenizers = prepare(recipe.data, corpora, pipeline, folder=tokenizer_folder, progress=progress)
    stages = plan_stages(recipe.data, corpora, seed=recipe.seed)
    feed = plan_feed(recipe, corpora, pipeline, tokenizers, stages)
    sample = first_examples(feed, stages)
    sets = {
        name: read_texts(name, corpus, feed, bleu=files.bleu_tokenizer)
        if isinstance(feed, TextFeed)
        else read_valid(
            name, corpus, pipeline, tokenizers, max_tokens=recipe.data.max_tokens, bleu=files.bleu_tokenizer
        )
        for (name, files), corpus in zip(recipe.data.valid.items(), valid, strict=True)
    }
    return Sources(corpora, tokenizers, pipeline, feed, stages, sets, sample)


def plan_feed(
    recipe: Recipe, corpora: list[Corpus], pipeline: Pipeline, tokenizers: Tokenizers, stages: Stages
) -> Feed | TextFeed:
    """What turns positions of the stream into ids, by the mixture of the first stage."""
    config, mixture = recipe.data, stages.mixtures[0]
    if recipe.is_language_model:
        exact, pairs = ExactText(tokenizers.target), any(not corpus.has_documents for corpus in corpora)
        separator = tokenizers.target.id(SEPARATOR) if pairs else None
        return TextFeed(corpora, pipeline, exact, mixture, config.max_tokens, separator)
    return Feed(
        corpora,
        pipeline,
        tokenizers.target,
        mixture,
        config.max_tokens,
        source_tokenizer=None if tokenizers.shared else tokenizers.source,
        contexts=plan_contexts(config, corpora, pipeline, tokenizers),
        **plan_chance(recipe, corpora, tokenizers),
    )


def plan_chance(recipe: Recipe, corpora: Sequence[Corpus], tokenizers: Tokenizers) -> dict[str, Any]:
    """What of a feed depends on chance: how lines are split, and what spoils sources."""
    config, seed = recipe.data, recipe.seed
    own, sampling = config.source_tokenizer, config.tokenizer.sampling
    key = "data.tokenizer" if own is None else "data.source_tokenizer"
    return {
        "source_sampling": plan_sampling(
            sampling if own is None else own.sampling, tokenizers.source, side="source", seed=seed, key=key
        ),
        "target_sampling": plan_sampling(sampling, tokenizers.target, side="target", seed=seed),
        "noises": plan_noises(config, corpora, tokenizers.source),
    }


def first_examples(feed: Feed | TextFeed, stages: Stages) -> Sample:
    """A sample of the stream, every stage with the same part of it; InputError where nothing of it is kept."""
    most = SAMPLE_PASSAGES if isinstance(feed, TextFeed) else SAMPLE_POSITIONS
    count = min(most, feed.mixture.examples_per_epoch)
    each = max(1, count // len(stages.mixtures))
    parts = [replace(feed, mixture=mixture).chunk(start=0, count=each) for mixture in stages.mixtures]
    sample = Sample(
        Ragged.joined([part.source for part in parts]),
        Ragged.joined([part.target for part in parts]),
        tuple(example for part in parts for example in part.dropped),
        np.concatenate([part.prompt for part in parts]),
        each * len(parts),
    )
    if len(sample.target) == 0:
        reasons = sorted({example.reason for example in sample.dropped})
        raise input_error(
            "data.train: nothing is left to train on",
            got=f"the first {len(sample.dropped)} examples were all dropped: {', '.join(reasons)}",
            allowed="at least one that is kept",
            fix="raise data.max_tokens, which source and target share, or loosen data.transforms"
            if isinstance(feed, TextFeed)
            else "loosen data.transforms or data.max_tokens; `trimtab data inspect` shows what is dropped",
        )
    return sample


def open_all(recipe: Recipe) -> tuple[list[Corpus], list[Corpus]]:
    """Training corpora and validation sets; InputError with what is wrong with any of them."""
    where: dict[str, Any] = {"root": Path.cwd(), "cache": default_cache()}
    if recipe.is_language_model:
        where["passage_bytes"] = passage_bytes(recipe.data)
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


def read_valid(
    name: str,
    corpus: Corpus,
    pipeline: Pipeline,
    tokenizers: Tokenizers,
    *,
    max_tokens: int,
    bleu: BleuTokenizer,
) -> ValidSet:
    """A validation set, whole: filters are not applied to it, normalisation is."""
    pairs = [corpus.pair(line) for line in range(len(corpus))]
    sources, references = [source for source, _ in pairs], [target for _, target in pairs]
    source = Ragged.of(
        tokenizers.source.encode_with_tags([pipeline.apply_source(line) for line in sources], corpus.tags)
    )
    target = Ragged.of(tokenizers.target.encode([pipeline.apply_reference(*pair) for pair in pairs]))
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


def read_texts(name: str, corpus: Corpus, feed: TextFeed, *, bleu: BleuTokenizer) -> ValidSet:
    """A validation set of a language model, whole: documents as they are, pairs without filters.

    Its bytes are those of the documents, or of the targets that fit.
    """
    lines = range(len(corpus))
    if corpus.has_documents:
        passages = [corpus.passage(line) for line in lines]
        rows = [row for few in rows_of_passages(passages, feed.tokenizer, feed.max_tokens) for row in few]
        sources, references, too_long = [], [], 0
        counted = [passage.text for passage in passages]
    else:
        pairs = [corpus.pair(line) for line in lines]
        read = [(feed.pipeline.apply_source(source), target) for source, target in pairs]
        assert feed.separator is not None, "a set of pairs, and training without"
        made = {"tags": corpus.tags, "tokenizer": feed.tokenizer, "separator": feed.separator}
        whole = [pair_row(*pair, **made) for pair in read]
        fits = [len(row.ids) <= feed.max_tokens for row in whole]
        rows = [row for row, fit in zip(whole, fits, strict=True) if fit]
        sources, references = [source for source, _ in pairs], [target for _, target in pairs]
        counted, too_long = (
            [target for (_, target), fit in zip(read, fits, strict=True) if fit],
            fits.count(False),
        )
    return ValidSet(
        name=name,
        sources=sources,
        references=references,
        tags=corpus.tags,
        bleu_tokenizer=bleu,
        source=no_source(len(rows)),
        target=Ragged.of([row.ids for row in rows]),
        too_long=too_long,
        prompt=np.array([row.prompt for row in rows], np.int32),
        num_bytes=sum(len(text.encode()) for text in counted),
    )
