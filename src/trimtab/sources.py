"""The data of a run, opened: corpora, tokenizer, validation sets, and what a sample of them shows."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trimtab.config.corpora import ParallelFiles
from trimtab.config.reserved import SEPARATOR
from trimtab.config.run import Recipe
from trimtab.data.cache import default_cache
from trimtab.data.chunk import Feed
from trimtab.data.context import plan_contexts
from trimtab.data.corpus import Corpus, open_corpora
from trimtab.data.exact_text import ExactText
from trimtab.data.noises import plan_noises
from trimtab.data.sentencepiece_model import SentencePiece
from trimtab.data.stages import Stages, plan_stages
from trimtab.data.stream_sample import Sample, first_examples
from trimtab.data.subword_sampling import DRAWN_BY, plan_sampling
from trimtab.data.text_rows import (
    PASSAGES,
    TextFeed,
    passage_bytes,
)
from trimtab.data.text_tokenizers import prepare_text_tokenizers
from trimtab.data.tokenizers import Tokenizers, prepare_tokenizers
from trimtab.data.transforms.apply import Pipeline, build_transforms
from trimtab.data.valid_set import ValidSet, read_texts, read_valid
from trimtab.errors import InputError, Problem
from trimtab.progress import Progress

WITHIN_SLACK = 1.02
"""Rows that go on with a document are given one token each; a pack has room for a twentieth more than its share."""


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
        if isinstance(self.feed, Feed) and (self.feed.source_sampling or self.feed.target_sampling):
            data["how this version of trimtab draws splits"] = DRAWN_BY
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
