"""Opens the data and the newest checkpoint of a run, and builds its parts; nothing is trained yet."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass

from trimtab.build import Parts, build
from trimtab.checkpoint.fingerprints import check_fingerprints, recipe_fingerprints
from trimtab.checkpoint.load import Checkpoint
from trimtab.checkpoint.run_folder import RunFolder
from trimtab.checkpoint.store import CheckpointStore
from trimtab.config.load import load_recipe
from trimtab.config.resets import Reset, fixes_for, may_change
from trimtab.config.run import Recipe
from trimtab.data.loader import prepare_workers
from trimtab.device import choose_device, set_arithmetic
from trimtab.distributed import ONE_RANK, Ranks
from trimtab.distributed.agree import first_rank_first
from trimtab.errors import InputError, RunFailed, input_error, is_out_of_memory
from trimtab.progress import Progress
from trimtab.tasks.task import Datasets
from trimtab.tasks.task_of import open_datasets
from trimtab.training.early_checks import (
    check_exports,
    check_metrics,
    check_tokenizers_outside,
    check_trackers,
)
from trimtab.training.findings import PendingFindings
from trimtab.training.first_weights import begin_from_weights, load_frozen_weights
from trimtab.training.preflight.memory import model_does_not_fit
from trimtab.training.resumed import migrate_fingerprints, with_chosen_values, without_paths
from trimtab.training.start_clock import StartClock


@dataclass(frozen=True, slots=True)
class Prepared:
    """A run that is opened and built, before anything is changed in its folder but its tokenizer."""

    run: RunFolder
    store: CheckpointStore
    pending: PendingFindings
    """What the store finds; kept until there is a log."""
    parts: Parts
    checkpoint: Checkpoint | None
    """Where the run resumes; None for its beginning."""
    fingerprints: dict[str, str]
    progress: Progress
    reset: Sequence[Reset] = ()
    """Which parts start over where the run resumes."""


def prepare(
    run: RunFolder,
    recipe: Recipe,
    *,
    reset: Sequence[Reset] = (),
    progress: Progress,
    ranks: Ranks = ONE_RANK,
    clock: StartClock | None = None,
) -> Prepared:
    """Opens data and newest checkpoint and builds the parts.

    Raises InputError if something of the recipe is missing or wrong, and where it is not that of the checkpoint.
    """
    clock = clock or StartClock()
    # Rank 0 trains the tokenizer and repairs what a killed process left behind, and the others wait for it. Sharded
    # weights must be loaded on all ranks together.
    opened = first_rank_first(
        ranks, lambda: open_run(run, recipe, reset=reset, progress=progress, clock=clock)
    )
    checkpoint, datasets = opened.checkpoint, opened.datasets
    parts = built(opened.recipe, datasets, ranks)
    if checkpoint is None:
        begin_from_weights(parts, progress=progress)
    else:
        load_frozen_weights(parts)
    clock.end("model")
    # Of the recipe as it is with everything chosen, and with the very weights that it begins from.
    marks = {**recipe_fingerprints(without_paths(parts.recipe)), **datasets.fingerprints}
    if checkpoint is not None:
        stored = recipe_fingerprints(without_paths(load_recipe(run.recipe).recipe))
        check_fingerprints(
            migrate_fingerprints(checkpoint.fingerprints),
            marks,
            may_change=may_change(reset),
            as_read_now=stored,
            fixes=lambda names: fixes_for(
                names, reset, pretrained_run=str(run.path) if parts.recipe.model.pretrained_path else ""
            ),
        )
    resets = reset if checkpoint else ()
    return Prepared(run, opened.store, opened.pending, parts, checkpoint, marks, progress, resets)


@dataclass(frozen=True, slots=True)
class Opened:
    """What a run reads before its model is built."""

    store: CheckpointStore
    pending: PendingFindings
    checkpoint: Checkpoint | None
    recipe: Recipe
    """With what a resumed run keeps from its start."""
    datasets: Datasets


def open_run(
    run: RunFolder, recipe: Recipe, *, reset: Sequence[Reset], progress: Progress, clock: StartClock
) -> Opened:
    """Opens the newest checkpoint and the data, and trains the tokenizer where there is none yet."""
    pending = PendingFindings()
    store = CheckpointStore(
        run.checkpoints,
        keep=recipe.checkpoint.keep,
        settling=recipe.guard.healthy_after if recipe.guard.rewinds else 0,
        tell=pending.tell,
    )
    checkpoint = store.latest()
    if checkpoint is None:
        run.check_nothing_lost()
        if reset:
            progress.message("there is no checkpoint yet, so there is nothing to reset")
        check_tokenizers_outside(run, recipe)
        if run.writes:
            # Left by a try that ended early, perhaps of another recipe; it would be taken for this one's.
            shutil.rmtree(run.tokenizer, ignore_errors=True)
    else:
        recipe = with_chosen_values(recipe, run, reset=reset)
        if reset and not recipe.checkpoint.write:
            raise reset_is_not_kept(reset)
    check_metrics(recipe)
    check_exports(recipe)
    check_trackers(recipe)
    datasets = open_datasets(recipe, tokenizer_folder=run.tokenizer, progress=progress)
    clock.end("data")
    prepare_workers(recipe.data)
    set_arithmetic(recipe)  # before the model computes anything
    return Opened(store, pending, checkpoint, recipe, datasets)


def reset_is_not_kept(reset: Sequence[Reset]) -> InputError:
    """The error of a reset that no checkpoint would hold: the next resume would find the state before it."""
    return input_error(
        "--reset: what is reset is kept in a checkpoint, and this run writes none",
        got=f"--reset {','.join(reset)} with `checkpoint.write: false`",
        allowed="`checkpoint.write: true`",
        fix="leave `checkpoint.write` out, or drop --reset",
    )


def built(recipe: Recipe, datasets: Datasets, ranks: Ranks = ONE_RANK) -> Parts:
    """The parts of the run; RunFailed if there is no memory for the model."""
    try:
        return build(recipe, datasets, ranks=ranks)
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        told = model_does_not_fit(recipe, error, device=choose_device(), ranks=ranks.world_size)
        raise RunFailed(told) from None
