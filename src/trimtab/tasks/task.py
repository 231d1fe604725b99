"""What a task brings to a run: its data, batches, model and loss, and its own checks before the first step."""

import math
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, Protocol, runtime_checkable

import numpy as np
import torch
from torch import nn

from trimtab.checkpoint.resolve import resolve_checkpoint
from trimtab.checkpoint.run_folder import RunFolder
from trimtab.config.given_path import RUN, path_text
from trimtab.config.load import load_recipe
from trimtab.config.run import Recipe
from trimtab.data.mixture import Mixture
from trimtab.data.stages import Stages
from trimtab.distributed import Ranks
from trimtab.distributed.placed_ranks import PlacedRanks
from trimtab.errors import input_error
from trimtab.finding import Finding
from trimtab.types import Batch, GlobalBatch, LossOutput
from trimtab.watch.attention_places import IDS, Vocabulary

Check = Callable[[Any], Iterator[Finding]]
"""Looks at the built parts of a run; see `examples.Checked`."""
OpenMixture = Callable[[Mixture, int, int], Generator[GlobalBatch, None, None]]
"""The endless global batches of one mixture, from a position of the stream and a step on."""


@runtime_checkable
class Datasets(Protocol):
    """The data of a run, opened, as far as every task has it."""

    @property
    def corpora(self) -> Sequence[Any]:
        """What is trained on, each with a `name` and the place of a line in it."""
        ...

    @property
    def stages(self) -> Stages:
        """Which mixture of the corpora is read at which step."""
        ...

    @property
    def valid(self) -> Mapping[str, Any]:
        """The validation sets by name."""
        ...

    @property
    def fingerprints(self) -> dict[str, str]:
        """What must not change when a run resumes, by name."""
        ...

    @property
    def positions_per_epoch(self) -> int:
        """How far an epoch moves the stream's position."""
        ...

    @property
    def targets_per_epoch(self) -> float:
        """Targets of an epoch, estimated from a sample."""
        ...

    @property
    def tokens_per_target(self) -> float:
        """Tokens whose work comes with each target; 1 where targets are tokens themselves."""
        ...

    @property
    def epoch_size(self) -> str:
        """An epoch in words, such as `200 pairs`."""
        ...


@runtime_checkable
class ComputesLoss(Protocol):
    """Forward pass and summed loss of one micro-batch."""

    truncating: bool
    """Whether the labels with the largest errors are left out; who counts the steps says when. A loss that never leaves
    any out ignores it."""

    def __call__(self, model: nn.Module, batch: Any) -> LossOutput:
        """The loss of a micro-batch by this model, summed over its targets."""
        ...


@runtime_checkable
class Batching(Protocol):
    """Cuts global batches into micro-batches."""

    def cut_at(self, window: Any, step: int) -> Sequence[Batch]:
        """The micro-batches of a step's global batch, in host memory."""
        ...

    @property
    def num_batches(self) -> int:
        """Micro-batches of a whole step; a few more where it does not fit into so many."""
        ...

    def tokens_at(self, step: int, /) -> int:
        """Targets that the global batch of a step may hold."""
        ...

    @property
    def in_order(self) -> bool:
        """Whether each rank takes the micro-batches of the same places in every step, since those differ in which
        weights they use, and steps are recorded by them."""
        ...

    @property
    def resolved(self) -> Mapping[str, Any]:
        """What was chosen of the recipe's `step` where it was left open."""
        ...


class Untrained(NamedTuple):
    """What a model loses that has learned nothing."""

    loss: float
    """Nats per target."""
    name: str
    """What it is called in messages, such as `ln(vocabulary)`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """Where a validation stands: what is known of the set, and of the run."""

    loss: float
    """Of the set, per target; NaN where it has no rows."""
    started: float
    """When its scoring began, by `time.perf_counter`."""
    first: bool
    """Whether it is the first set, by which the model is judged."""
    share: float
    """Of the run's length that is over."""
    input_matters: bool
    """Whether an evaluation before has seen the loss rise when inputs were exchanged."""


@dataclass(frozen=True, slots=True)
class Validated:
    """What a task found in a validation set besides its loss."""

    scores: dict[str, Any]
    """For the line of the evaluation, in the order in which they are written."""
    findings: Sequence[Finding] = ()
    samples: Sequence[dict[str, Any]] = ()
    """Lines of `samples.jsonl`, without step and set."""
    sentences: Mapping[str, Any] | None = None
    """The line of `sentences.jsonl`, without step and set."""
    picture: bytes = b""
    """A PNG file of what the model makes, for `samples/`; empty for none."""
    input_matters: bool = False
    """See `Moment.input_matters`; for the next evaluation."""


@dataclass(frozen=True, slots=True)
class ExampleLosses:
    """The loss of each example of a window, in the window's order."""

    loss: np.ndarray
    """Nats per target, float64; NaN or infinite where it is not finite."""
    targets: np.ndarray
    """Targets that count, int64."""


@runtime_checkable
class Exported(Protocol):
    """What an export wrote and how it was proven."""

    @property
    def folder(self) -> Path:
        """Where it is."""
        ...

    @property
    def gate(self) -> Any:
        """What the proof saw; it has `passed`."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        ...

    def render(self) -> str:
        """Lines for people."""
        ...


@dataclass(frozen=True, slots=True)
class ExportedFolder:
    """A folder that was written and proven; see `Exported`."""

    folder: Path
    target: str
    step: int
    gate: Any
    use: str = ""
    """A command that uses the folder, and what that needs; empty where the target's card says it."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        told = {"folder": str(self.folder), "target": self.target, "step": self.step}
        return {**told, "gate": self.gate.to_dict()}

    def render(self) -> str:
        """Lines for people."""
        told = f"{self.folder}: step {self.step} for {self.target}, as exact as the trainer\n{self.gate.render()}"
        return f"{told}\n{self.use}" if self.use else told


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """How the validation sets of a task are scored."""

    loss_of: Callable[..., float]
    """`(parts, model, valid)`: nats per target of a set, without smoothing; NaN where it has no rows."""
    scored: Callable[[Any, Any, Any, Moment], Validated]
    """`(parts, model, valid, moment)`: everything else."""
    judged_again: tuple[str, ...] = ()
    """Codes of what `scored` finds in the model, which each validation looks for again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnChecks:
    """The checks of a task before the first step, beside those that every task has."""

    data: Check
    """Of the data; no model runs."""
    batches: tuple[Check, ...]
    """Whether batches, model and loss belong together."""
    use: tuple[Check, ...] = ()
    """Whether the model can be used as an evaluation will."""


def as_written(recipe: Recipe, datasets: Any) -> Recipe:
    """No size of a recipe follows from the data."""
    return recipe


def unknown_loss(datasets: Any) -> Untrained:
    """What an untrained model loses follows from the data and is not known beforehand. Any finite loss is within the
    bounds of an infinite one."""
    return Untrained(math.inf, "that of a model that knows nothing")


def no_embedding_rows(recipe: Recipe, datasets: Any) -> dict[str, int]:
    """No input consists of ids of a vocabulary whose rows are watched."""
    return {}


def no_ids(window: Any) -> dict[str, np.ndarray]:
    """No ids are read."""
    return {}


def ids_as_numbers(recipe: Recipe, datasets: Any) -> Vocabulary:
    """Ids have no other spelling."""
    return IDS


def same_weights_on_all_ranks(recipe: Recipe, model: Any, ranks: Ranks) -> PlacedRanks | None:
    """Every rank trains every weight."""
    return None


def no_warm_start(old: Any, datasets: Any, model: Any, *, name: str) -> NoReturn:
    """For kinds of model that begin from nothing; their settings have no `warm_start`."""
    raise input_error(f"model.warm_start: this kind of model cannot start from {name}")


def no_inspection(recipe: Recipe, *, limit: int, progress: Any) -> NoReturn:
    """For examples that are no pairs of texts, which the report is on."""
    raise input_error(
        f"data.train: its examples are {recipe.facts.examples}, and trimtab inspects pairs of texts",
        got=f"task: {recipe.task}",
        allowed="a recipe of another task",
        fix="check the data with `trimtab train RECIPE --smoke`; data_ledger.json counts what is dropped",
    )


def no_export(run: Path | str, target: Any, out: Path, *, given: Any, quantized: Any) -> NoReturn:
    """For models that no target supports."""
    place = resolve_checkpoint(path_text(run, name="run", allowed=RUN)).run
    recipe = load_recipe(RunFolder(place).recipe).recipe
    raise input_error(
        f"{run}: no export target supports {recipe.task} yet",
        got=f"task: {recipe.task}",
        allowed="a run of another task",
        fix=f"use the run itself, with `{recipe.facts.command} {run}`",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A task as a record of functions; `datasets` is always what its own `open_datasets` gave."""

    name: str
    open_datasets: Callable[..., Any]
    """`(recipe, *, tokenizer_folder, progress)`: everything that the recipe names. Raises InputError with every file
    that is wrong, and where nothing is left to train on."""
    check_prepared: Callable[[Path], object]
    """`(folder)`: raises InputError where something that `open_datasets` keeps in a run's `tokenizer/` is missing or
    damaged. Writes nothing."""
    plan_batches: Callable[..., Any]
    """`(recipe, datasets, *, packed, device, ranks)`: the `Batching` of the run. `packed` asks for batches of one
    shape, `ranks` is how many processes share the batches of a step."""
    open_mixture: Callable[[Recipe, Any], OpenMixture]
    build_model: Callable[..., Any]
    """`(recipe, datasets, *, device)`: the model with its first weights."""
    build_loss: Callable[..., ComputesLoss]
    """`(recipe, datasets, *, device)`"""
    validation: Validation
    example_losses: Callable[[Any, Any], ExampleLosses]
    """`(parts, window)`: the loss of each example of a window by the model as it is, without smoothing."""
    load_predictor: Callable[..., Any]
    """`(spec, *, device)`: the trained model of a `RUN`, `RUN@last` or `RUN@500` on its device, with all that it needs
    to be used. Raises InputError where there is none, or it is not of this task."""
    examples: Callable[[Any, Any, torch.device], Any]
    """`(datasets, batching, device)`: the `Examples` that checks look at."""
    checks: OwnChecks
    resolve_sizes: Callable[[Recipe, Any], Recipe] = as_written
    """The recipe with the sizes that follow from the opened data."""
    untrained: Callable[[Any], Untrained] = unknown_loss
    embedding_rows: Callable[[Recipe, Any], dict[str, int]] = no_embedding_rows
    """`(recipe, datasets)`: rows of the embedding of each side, by its name, of which those that no example reads are
    counted; `watch.unseen_tokens.BOTH` is the name of a table that both sides read."""
    ids_read: Callable[[Any], dict[str, np.ndarray]] = no_ids
    """`(window)`: the ids of a global batch by side, for tasks with `embedding_rows`."""
    vocabulary: Callable[[Recipe, Any], Vocabulary] = ids_as_numbers
    """`(recipe, datasets)`: how a look inside the model spells tokens."""
    placed_ranks: Callable[[Recipe, Any, Ranks], PlacedRanks | None] = same_weights_on_all_ranks
    """`(recipe, model, ranks)`: ranks of which each trains some of the weights, in place of `ranks`; None where each
    trains all."""
    take_weights: Callable[..., str] = no_warm_start
    """`(old, datasets, model, *, name)`: puts the weights of what `load_predictor` gave into this model, and says what
    fitted."""
    export: Callable[..., Exported] = no_export
    """`(run, target, out, *, given, quantized)`: writes the model of a run in the form of another library, proves it on
    real text, and gives the report. Raises InputError for what cannot be exported, before anything is written;
    RunFailed where the proof fails, and then there is no folder."""
    inspect: Callable[..., Any] = no_inspection
    """`(recipe, *, limit, progress)`: a report on the data, before a run."""
