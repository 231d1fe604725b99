"""The data of a run, opened: labelled corpora, the vocabulary of the texts, the labels, the validation sets."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from trimtab.config.run import Recipe
from trimtab.config.tokenizer import ByteLevel, PretrainedTokenizer, SentencePieceTokenizer
from trimtab.data.byte_level_tokenizer import Symbols, make_byte_level
from trimtab.data.chunk import BYTES_PER_TOKEN, LEAST_ROOM, Chunk
from trimtab.data.corpus import Corpus
from trimtab.data.fitting_vocabulary import train_fitting
from trimtab.data.id_filter import TOO_LONG
from trimtab.data.mixture import Mixture
from trimtab.data.sentencepiece_model import CARD_FILE
from trimtab.data.stages import Stages, plan_stages
from trimtab.data.stored_sides import FILES, adopt_sides
from trimtab.data.stored_tokenizer import AnyTokenizer, load_stored
from trimtab.data.stream_sample import Sample, first_examples
from trimtab.data.tokenizer import adopt_tokenizer, sample_lines
from trimtab.data.transforms.apply import EMPTY_SOURCE, EMPTY_TARGET, Pipeline, build_transforms
from trimtab.errors import input_error
from trimtab.progress import Progress
from trimtab.tasks.labels import LABELS_FILE, Labels, load_labels, numbered, save_labels
from trimtab.tasks.recipe_files import each_or_problems, fingerprints_of, keyed_files
from trimtab.tasks.text.datasets import open_all
from trimtab.types import DroppedExample, Ragged
from trimtab.units import counted


@dataclass(frozen=True, slots=True)
class TextReader:
    """What turns a text into ids; of a long one the beginning is read."""

    pipeline: Pipeline
    tokenizer: AnyTokenizer
    max_tokens: int

    def rows(self, texts: Sequence[str]) -> Ragged:
        """The ids of each text with the end symbol, at most `max_tokens`."""
        found = self.tokenizer.encode([self.pipeline.apply_source(text) for text in texts])
        most = self.max_tokens
        return Ragged.of([row if len(row) <= most else [*row[: most - 1], row[-1]] for row in found])


@dataclass(frozen=True, slots=True)
class LabelledFeed:
    """All that turns positions of the stream into examples; may be pickled. See `data.chunk.MakesChunks`."""

    corpora: Sequence[Corpus]
    reader: TextReader
    labels: Labels
    mixture: Mixture

    parts_per_position: ClassVar[int] = 1
    positions_per_chunk: ClassVar[int] = 1024
    sample_positions: ClassVar[int] = 4096
    shares_length: ClassVar[bool] = False
    within_slack: ClassVar[float] = 1.0
    fingerprints: ClassVar[dict[str, str]] = {}

    @property
    def max_tokens(self) -> int:
        """Length of the longest text."""
        return self.reader.max_tokens

    def chunk(self, *, start: int, count: int) -> Chunk:
        """The examples at so many positions, a function of its arguments alone: ids of each text, and the number of
        its label. Texts and labels of which nothing is left are dropped; so is a line far too long to be read."""
        places, numbers = self.mixture.at(np.arange(start, start + count)), self.labels.numbers
        most = BYTES_PER_TOKEN * max(LEAST_ROOM, self.max_tokens)
        texts: list[str] = []
        labels: list[int] = []
        reasons: list[str] = []
        for corpus, line in zip(places.corpus.tolist(), places.line.tolist(), strict=True):
            if self.corpora[corpus].num_bytes(line) > most:
                reasons.append(TOO_LONG)
                continue
            text, target = self.corpora[corpus].pair(line)
            label = label_of(target)
            reasons.append("" if label else EMPTY_TARGET)
            if label:
                texts.append(text)
                labels.append(numbers[label])
        rows = self.reader.rows(texts)
        read = np.flatnonzero([reason == "" for reason in reasons])
        full = np.flatnonzero(rows.lengths > 1)  # more than the end symbol
        for place in np.delete(read, full).tolist():
            reasons[place] = EMPTY_SOURCE
        kept, gone = read[full], np.flatnonzero([reason != "" for reason in reasons])
        return Chunk(
            source=rows.take(full),
            target=label_rows(np.array(labels, np.int32)[full]),
            corpus=places.corpus[kept],
            line=places.line[kept],
            position=start + kept,
            dropped=tuple(
                DroppedExample(int(places.corpus[place]), int(places.line[place]), reasons[place])
                for place in gone
            ),
            dropped_position=start + gone,
            prompt=np.zeros(len(kept), np.int32),
        )


def label_rows(labels: np.ndarray) -> Ragged:
    """A row of one number for each label."""
    return Ragged(labels.astype(np.int32), np.arange(len(labels) + 1, dtype=np.int64))


@dataclass(frozen=True, slots=True)
class LabelledSet:
    """A validation set, whole."""

    name: str
    texts: list[str]
    text: Ragged
    """Ids of each text, as far as it is read."""
    labels: np.ndarray
    """The number of each label, int32."""

    @property
    def rows(self) -> int:
        """Examples that the loss is measured on."""
        return len(self.text)

    @property
    def fingerprint(self) -> str:
        """What its scores depend on: how many examples, and a sha256 of their texts and labels."""
        mark = hashlib.sha256(json.dumps([self.texts, self.labels.tolist()]).encode())
        return f"{len(self.texts):,} examples, sha256 {mark.hexdigest()[:32]}"


@dataclass(frozen=True, slots=True)
class Labelled:
    """Everything that is read, ready to be read; see `tasks.task.Datasets`."""

    corpora: list[Corpus]
    reader: TextReader
    labels: Labels
    feed: LabelledFeed
    stages: Stages
    valid: dict[str, LabelledSet]
    sample: Sample

    @property
    def tokenizer(self) -> AnyTokenizer:
        """Of the texts."""
        return self.reader.tokenizer

    @property
    def fingerprints(self) -> dict[str, str]:
        """What must not change when a run resumes, by name."""
        data = fingerprints_of(self.corpora, self.valid, what="examples")
        return {**data, "tokenizer": self.tokenizer.fingerprint, "labels": self.labels.fingerprint}

    @property
    def positions_per_epoch(self) -> int:
        """How far an epoch moves the stream's position."""
        return self.feed.mixture.examples_per_epoch

    @property
    def targets_per_epoch(self) -> float:
        """Examples of an epoch, estimated from the sample."""
        return self.positions_per_epoch * len(self.sample.target) / max(1, self.sample.seen)

    @property
    def tokens_per_target(self) -> float:
        """Mean length of a text of the sample."""
        return float(self.sample.source.lengths.mean())

    @property
    def epoch_size(self) -> str:
        """An epoch in words."""
        return f"{counted(self.positions_per_epoch, 'example')} of {counted(len(self.labels), 'label')}"


def open_datasets(recipe: Recipe, *, tokenizer_folder: Path, progress: Progress) -> Labelled:
    """Opens what a recipe with absolute paths names; see `tasks.task.Task.open_datasets`."""
    progress.message("reading the corpora")
    corpora, valid = open_all(recipe, passage_bytes=None)
    pipeline = build_transforms(recipe.data.transforms)
    tokenizer = prepare_tokenizer(recipe, corpora, pipeline, folder=tokenizer_folder, progress=progress)
    labels = prepare_labels(corpora, folder=tokenizer_folder)
    reader = TextReader(pipeline, tokenizer, recipe.data.max_tokens)
    stages = plan_stages(recipe.data, corpora, seed=recipe.data_seed)
    feed = LabelledFeed(corpora, reader, labels, stages.mixtures[0])
    _, (keys, _) = keyed_files(recipe)
    named = {name: (corpus, key) for name, corpus, key in zip(recipe.data.valid, valid, keys, strict=True)}
    sets = each_or_problems(
        named, lambda name: read_set(name, named[name][0], reader, labels, key=named[name][1])
    )
    return Labelled(corpora, reader, labels, feed, stages, sets, first_examples(feed, stages))


def prepare_tokenizer(
    recipe: Recipe, corpora: Sequence[Corpus], pipeline: Pipeline, *, folder: Path, progress: Progress
) -> AnyTokenizer:
    """The tokenizer in the run's folder, or the one that the recipe gives, or a new one of the training texts."""
    config, key = recipe.data.tokenizer, "data.tokenizer"
    if (folder / CARD_FILE).exists():
        return load_stored(folder)
    if isinstance(config, PretrainedTokenizer):
        return adopt_sides(config, {"source": folder}, folder / FILES, task=recipe.task)[0]
    if isinstance(config, ByteLevel):
        return make_byte_level(
            config,
            lambda: sample_lines(corpora, config.training_lines, pipeline=pipeline, side="source"),
            symbols=Symbols(),
            out=folder,
            key=key,
            progress=progress,
        )
    assert isinstance(config, SentencePieceTokenizer), "other kinds are refused with the recipe"
    if config.path is not None:
        return adopt_tokenizer(config, folder, key=key)
    progress.message(f"training a tokenizer of {config.vocabulary_size} pieces")
    return train_fitting(
        config,
        lines=lambda: sample_lines(corpora, config.training_lines, pipeline=pipeline, side="source"),
        progress=progress,
        symbols=(),
        out=folder,
        key=key,
    )


def read_set(name: str, corpus: Corpus, reader: TextReader, labels: Labels, *, key: str) -> LabelledSet:
    """A validation set, whole; InputError for labels that the training data does not have."""
    texts = [text for text, _ in corpus.several(range(len(corpus)))]
    found = numbered(
        labels_in(corpus),
        labels.numbers,
        key=key,
        place=corpus.place,
        what="a label that the training data does not have",
        allowed=labels.shown(),
        fix="correct it, remove the line, or add examples with this label to data.train",
    )
    return LabelledSet(name, texts, reader.rows(texts), np.array(found, np.int32))


def label_of(target: str) -> str:
    """A label as it is written in a corpus, without the spaces around it."""
    return target.strip()


def prepare_labels(corpora: Sequence[Corpus], *, folder: Path) -> Labels:
    """The labels in a run's folder, or those of the corpora, which are then written there.

    Raises InputError if the file is damaged, where the corpora have a label that is not in it, and where there are
    fewer than two labels.
    """
    if (folder / LABELS_FILE).exists():
        labels = load_labels(folder)
        for number, corpus in enumerate(corpora):
            _check_known(corpus, labels, key=f"data.train.{number}")
        return labels
    found = {label for corpus in corpora for label in labels_in(corpus)} - {""}
    if len(found) < 2:
        raise input_error(
            "data.train: a classifier needs at least two labels",
            got=f"{counted(len(found), 'label')}: {', '.join(sorted(found)) or 'none'}",
            allowed="at least 2 different labels as `target`",
            fix="check that `target` names the labels and `source` the texts",
        )
    labels = Labels(tuple(sorted(found)))
    save_labels(labels, folder)
    return labels


def _check_known(corpus: Corpus, labels: Labels, *, key: str) -> None:
    known = {*labels.names, ""}
    for line, label in enumerate(labels_in(corpus)):
        if label not in known:
            raise input_error(
                f"{key}: {corpus.place(line)}: a label unknown to this run",
                got=repr(label),
                allowed=labels.shown(),
                fix="restore the data as it was when the run began, or start a new run with another --out",
            )


def labels_in(corpus: Corpus) -> Iterator[str]:
    """The label of each line, in order."""
    return (label_of(target) for _, target in corpus.several(range(len(corpus))))
