"""The data of a modular model by direction, and each direction as a plain translation run."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from trimtab.config.modular_data import trained_directions
from trimtab.config.modular_routes import modular_of, plain_recipe
from trimtab.config.run import Recipe
from trimtab.data.mixture import Mixture
from trimtab.data.stream_sample import Sample
from trimtab.data.text_global_batch import TextGlobalBatch
from trimtab.errors import input_error
from trimtab.model.modular.together import can_be_joined
from trimtab.progress import Progress
from trimtab.tasks.text.datasets import TextDatasets, open_datasets
from trimtab.tasks.text.losses import OutputMatrixLoss
from trimtab.tasks.text.probing import TextExamples
from trimtab.tasks.translation.task import KIND, TRANSLATION
from trimtab.types import DirectedBatch, LossOutput, PackedBatch

SAMPLED = 256
"""Positions of the stream of each direction that its lengths are estimated from, and its checks look at."""


@dataclass(frozen=True, slots=True)
class DirectedDatasets(TextDatasets):
    """The data of a run, with the direction of each corpus."""

    directions: tuple[str, ...] = ()
    """Of each opened corpus, in their order."""
    samples: tuple[tuple[str, Sample], ...] = ()
    """The first examples of each direction, in the order of the model's directions."""

    def of_direction(self, name: str) -> TextDatasets:
        """The same data with the sample of a direction."""
        plain = {each.name: getattr(self, each.name) for each in fields(TextDatasets)}
        return TextDatasets(**{**plain, "sample": dict(self.samples)[name]})

    @property
    def fingerprints(self) -> dict[str, str]:
        """What must not change when a run resumes, by name."""
        marks = TextDatasets.fingerprints.__get__(self)  # a dataclass with slots has no super()
        return {**marks, "directions of the corpora": " ".join(self.directions)}

    def target_shares(self) -> dict[str, float]:
        """The share of each direction in the targets of a step, estimated from the samples."""
        shares = np.array(self.stages.mixtures[0].shares)
        weights: dict[str, float] = {}
        for name, sample in self.samples:
            own = sum(share for share, each in zip(shares, self.directions, strict=True) if each == name)
            weights[name] = own * sample.targets / max(1, sample.seen)
        total = sum(weights.values()) or 1.0
        return {name: weight / total for name, weight in weights.items()}


def open_directed(recipe: Recipe, *, tokenizer_folder: Path, progress: Progress) -> DirectedDatasets:
    """Opens what a recipe names; see `Task.open_datasets`. Raises InputError also for a direction of which nothing is
    left to train on."""
    model = modular_of(recipe)
    whole = open_datasets(KIND, recipe, tokenizer_folder=tokenizer_folder, progress=progress)
    directions = tuple(direction for _, direction, _ in trained_directions(recipe.data))
    samples = tuple((name, _sample_of(whole, directions, name)) for name in model.directions)
    plain = {each.name: getattr(whole, each.name) for each in fields(TextDatasets)}
    return DirectedDatasets(**plain, directions=directions, samples=samples)


def _sample_of(whole: TextDatasets, directions: Sequence[str], name: str) -> Sample:
    """The first examples of a direction. InputError, with the direction, where every one of them is dropped."""
    corpora = whole.corpora
    weights = [
        corpus.weight if each == name else 0.0 for corpus, each in zip(corpora, directions, strict=True)
    ]
    lengths = [len(corpus) for corpus in corpora]
    base = Mixture.of(lengths=lengths, weights=[1.0] * len(lengths), seed=whole.stages.mixtures[0].seed)
    mixture = base.reweighted(weights, temperature=1.0, stage=0)
    feed = replace(whole.feed, mixture=mixture)  # pyright: ignore[reportArgumentType]
    part = feed.chunk(start=0, count=min(SAMPLED, mixture.examples_per_epoch))
    if not len(part.target):
        sample = whole.feed.sample_positions
        part = feed.chunk(start=0, count=min(sample, mixture.examples_per_epoch))
    if not len(part.target):
        reasons = sorted({example.reason for example in part.dropped})
        raise input_error(
            f"model.directions.{name}: nothing is left to train on",
            got=f"the first {len(part.dropped)} examples of the direction were all dropped: {', '.join(reasons)}",
            allowed="at least one that remains",
            fix="loosen data.transforms or data.max_tokens; `trimtab data inspect` shows what is dropped",
        )
    return Sample(part.source, part.target, part.dropped, part.prompt, 0, part.links)


class DirectedLoss:
    """The loss of a text task for each part of a micro-batch, by the translator of its direction; see
    `tasks.task.ComputesLoss`."""

    def __init__(self, inner: OutputMatrixLoss) -> None:
        self.inner = inner

    @property
    def truncating(self) -> bool:
        """Whether the labels with the largest errors are left out."""
        return self.inner.truncating

    @truncating.setter
    def truncating(self, value: bool) -> None:
        self.inner.truncating = value

    def __call__(self, model: Any, batch: DirectedBatch | PackedBatch) -> LossOutput:
        """Summed over the targets of a micro-batch. A single pack is one of the direction that `model` translates."""
        if isinstance(batch, PackedBatch):
            return self.inner(model, batch)
        model.scale_gradients(batch.factors)
        if can_be_joined(batch.packs):
            found = [self.inner.loss(*each) for each in model.predicted(batch)]
        else:
            found = [self.inner(model.translator(name), pack) for name, pack in batch.parts]
        truncated = [each.truncated for each in found if each.truncated is not None]
        objective = sum((each.objective for each in found[1:]), found[0].objective)
        if torch.is_grad_enabled() and not objective.requires_grad:
            # Every component of these directions is frozen; a backward pass then adds nothing, and does not fail.
            trained = next(each for each in model.parameters() if each.requires_grad)
            objective = objective + 0.0 * trained.flatten()[0]
        return LossOutput(
            objective,
            sum((each.loss for each in found[1:]), found[0].loss),
            sum(truncated[1:], truncated[0]) if truncated else None,
        )


@dataclass(frozen=True, slots=True)
class OfDirection:
    """What makes the model of an evaluation, for one direction; see `build.EvaluationModel`."""

    whole: Any
    direction: str

    def copy(self) -> Any:
        """The translator of the direction in the model to score now."""
        return self.whole.copy().translator(self.direction)


def parts_of(parts: Any, direction: str) -> Any:
    """A run on all directions as a run on one: its data, its micro-batches, its translator. The weights are those of
    the run, so nothing may be trained with these parts."""
    model, packing = parts.model.translator(direction), parts.batching.packing
    datasets = parts.datasets.of_direction(direction)
    objective = type(parts.stepper.objective)(
        model, parts.stepper.loss.inner, precision=parts.precision, device=parts.device
    )
    return replace(
        parts,
        recipe=plain_recipe(parts.recipe, direction),
        task=TRANSLATION,
        datasets=datasets,
        model=model,
        batching=packing,
        examples=TextExamples(KIND, datasets, packing, parts.device),
        stepper=replace(parts.stepper, objective=objective),
        evaluation_model=OfDirection(parts.evaluation_model, direction),
    )


def split_by_direction(
    window: TextGlobalBatch, directions: Sequence[str]
) -> Iterator[tuple[str, np.ndarray, TextGlobalBatch]]:
    """The examples of a global batch by direction, in the order in which the directions first come, each with their
    numbers in the batch; `directions` are those of the corpora."""
    names = np.array(directions)[window.corpus]
    _, first = np.unique(names, return_index=True)
    for name in names[np.sort(first)]:
        chosen = np.flatnonzero(names == name)
        yield str(name), chosen, select_examples(window, chosen)


def select_examples(window: TextGlobalBatch, chosen: np.ndarray) -> TextGlobalBatch:
    """Some of the examples of a global batch, by their numbers in it."""
    return TextGlobalBatch(
        window.source.take(chosen),
        window.target.take(chosen),
        window.corpus[chosen],
        window.line[chosen],
        window.position,
        prompt=None if window.prompt is None else window.prompt[chosen],
        links=None if window.links is None else window.links.take(chosen),
    )
