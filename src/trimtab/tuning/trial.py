"""What a trial starts from: the parts of a run, where it is, and a way back to exactly there."""

import itertools
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import torch

from trimtab.build import build
from trimtab.checkpoint.load import Checkpoint
from trimtab.checkpoint.resolve import resolve_checkpoint
from trimtab.config.load import LoadedRecipe, load_recipe
from trimtab.config.paths import resolve_paths
from trimtab.config.run import Recipe
from trimtab.data.loader import prepare_workers
from trimtab.device import choose_device, set_arithmetic
from trimtab.errors import input_error
from trimtab.progress import Progress
from trimtab.step.stepper import Stepper
from trimtab.tasks.task_of import open_datasets, task_of
from trimtab.training.first_weights import begin_from_weights, load_frozen_weights
from trimtab.training.preflight.state_backup import backup, tensors_of
from trimtab.training.restore import restore
from trimtab.training.resumed import migrate_fingerprints
from trimtab.types import Batch, TrainState

Source = LoadedRecipe | Path | str | Mapping[str, Any]
"""A recipe, or a run or checkpoint: `runs/my`, `runs/my@2000`."""


@runtime_checkable
class Tried(Protocol):
    """The pieces of a run that trials use; what `build` gives has them."""

    recipe: Any
    device: torch.device
    model: Any
    stepper: Stepper
    stream: Any
    """Its `host_batches(position, step=...)` are the batches of the steps from there."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A run that is opened to be tried: nothing is written into its folder."""

    parts: Tried
    state: TrainState
    name: str

    def batches(self, count: int) -> list[Sequence[Batch]]:
        """The micro-batches of the next `count` steps, in host memory; each call gives the same."""
        found = self.parts.stream.host_batches(self.state.position, step=self.state.step)
        return [packs for _, packs in itertools.islice(found, count)]

    def at(self, number: int) -> TrainState:
        """Where the run will be after `number` more steps, as far as dropout and the loss depend on it."""
        return replace(self.state, step=self.state.step + number)


class RestorePoint:
    """Weights, buffers, optimizer states, loss scale, statistics of clipping and guard, gradients, modes and random
    numbers as they are when it is made; `restore` gives all of them their bits back, in the same memory.

    The memory stays the same, because a step that was recorded as a CUDA graph refers to it.
    """

    def __init__(self, parts: Tried) -> None:
        self.parts = parts
        stepper = parts.stepper
        self.weights = backup(tensors_of(parts.model))
        self.states = backup(stepper.optimizer.state_tensors())
        self.plain = stepper.to_dict()
        self.flags = stepper.loss.truncating, stepper.gate.masked
        self.modes = [(module, module.training) for module in parts.model.modules()]
        self.gradients = [(each, each.grad) for each in stepper.optimizer.parameters]
        on_gpu = parts.device.type == "cuda"
        self.drawn = torch.get_rng_state(), torch.cuda.get_rng_state(parts.device) if on_gpu else None

    @torch.no_grad()
    def restore(self) -> None:
        """Everything as it was; may be called any number of times."""
        stepper = self.parts.stepper
        for name, tensor in tensors_of(self.parts.model).items():
            tensor.copy_(self.weights[name])
        for name, tensor in stepper.optimizer.state_tensors().items():
            if name in self.states:
                tensor.copy_(self.states[name])
            else:  # made by the first update since, as zeros
                tensor.zero_()
        stepper.from_dict(self.plain)
        stepper.loss.truncating, stepper.gate.masked = self.flags
        for module, training in self.modes:
            module.training = training
        for tensor, gradient in self.gradients:
            tensor.grad = gradient
        torch.set_rng_state(self.drawn[0])
        if self.drawn[1] is not None:
            torch.cuda.set_rng_state(self.drawn[1], self.parts.device)


@contextmanager
def opened(
    source: Source,
    overrides: Sequence[str] | Mapping[str, Any] = (),
    *,
    step: Callable[[Recipe], Mapping[str, Any]] | None = None,
    device: str | None = None,
    progress: Progress,
) -> Iterator[Trial]:
    """A run at its beginning, or at a checkpoint. The guard's verdicts on outliers are off, since a trial wants to see
    what they would hide; `step` says what else changes of the recipe's `step`.

    Raises InputError where there is no such recipe or run, or its data are not what they were.
    """
    spec = run_of(source)
    with tempfile.TemporaryDirectory() as folder:
        if spec is None:
            loaded = source if isinstance(source, LoadedRecipe) else load_recipe(source, overrides)  # type: ignore[arg-type]
            recipe, checkpoint, tokenizer = resolve_paths(loaded), None, Path(folder) / "tokenizer"
            name = loaded.path.name
        else:
            checkpoint = resolve_checkpoint(spec)
            recipe = _of_run(checkpoint, overrides)
            tokenizer, name = checkpoint.run / "tokenizer", f"{checkpoint.run.name}@{checkpoint.step}"
            task_of(recipe).check_prepared(tokenizer)
        recipe = _for_trials(recipe, step(recipe) if step else {})
        datasets = open_datasets(recipe, tokenizer_folder=tokenizer, progress=progress)
        prepare_workers(recipe.data)
        set_arithmetic(recipe)
        parts = build(recipe, datasets, device=choose_device(device))
        state = TrainState()
        if checkpoint is None:
            begin_from_weights(parts, progress=progress)
        else:
            _check_data(checkpoint, datasets)
            load_frozen_weights(parts)
            state = restore(parts, checkpoint)
        yield Trial(parts, state, name)


def run_of(source: Source) -> str | None:
    """The run or checkpoint that a source names; None for a recipe."""
    if not isinstance(source, str | Path):
        return None
    text = str(source)
    return text if "@" in Path(text).name or Path(text).is_dir() else None


def _of_run(checkpoint: Checkpoint, overrides: Sequence[str] | Mapping[str, Any]) -> Recipe:
    """The recipe of a run, of which only `step` may be changed: its data and model are those of the checkpoint."""
    keys = [*overrides] if isinstance(overrides, Mapping) else [each.partition("=")[0] for each in overrides]
    others = [key for key in keys if not key.startswith("step.")]
    if others:
        raise input_error(
            f"{others[0]}: a run that has begun keeps its data and its model",
            got=", ".join(others),
            allowed="keys of `step`, such as step.tokens_per_micro_batch=4096",
            fix="leave it out, or name a recipe in place of the run",
        )
    return load_recipe(checkpoint.run / "recipe.yaml", overrides).recipe


def _for_trials(recipe: Recipe, step: Mapping[str, Any]) -> Recipe:
    guard = recipe.guard.model_copy(update={"outliers": False})
    changed = recipe.step.model_copy(update=dict(step))
    return recipe.model_copy(update={"guard": guard, "step": changed})


def _check_data(checkpoint: Checkpoint, datasets: Any) -> None:
    """Raises InputError where data or tokenizer are not those that the run was trained with."""
    before = migrate_fingerprints(checkpoint.fingerprints)
    changed = [name for name, mark in datasets.fingerprints.items() if before.get(name, mark) != mark]
    if changed:
        raise input_error(
            f"{checkpoint.run}: {', '.join(changed)} changed since the run was trained",
            got="other contents than those of the checkpoint",
            allowed="the data that the run was trained with",
            fix="put the files back, or name a recipe in place of the run",
        )
