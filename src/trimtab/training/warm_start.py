"""A run that begins from the weights of another: they are read once, and the recipe then says which they were."""

from pathlib import Path

from trimtab.build import Parts
from trimtab.checkpoint.load import Checkpoint
from trimtab.checkpoint.manifest import MODEL
from trimtab.config.run import Recipe
from trimtab.data.piece_map import PieceMap, map_pieces
from trimtab.errors import input_error
from trimtab.model.warm_start import RowMap, take_weights
from trimtab.progress import Progress
from trimtab.translator import load_model


def warm_start(parts: Parts, *, progress: Progress) -> None:
    """Puts the weights that `model.warm_start` names into the model of a run that is at step 0.

    Vocabularies may differ; they are mapped piece by piece, each side from the same side of the old run. The parts'
    recipe then names the very checkpoint and the sha256 of its weights. Raises InputError where there is no such run,
    the models differ, or the weights are not those that a resolved recipe names.
    """
    model = parts.recipe.model
    assert model.warm_start is not None, "a recipe without warm_start begins from nothing"
    old = load_model(model.warm_start, device="cpu")
    place, found = place_of(model.warm_start, old.checkpoint), weights_sha256(old.checkpoint)
    if model.warm_start_sha256 not in (None, found):
        raise input_error(
            f"model.warm_start_sha256: {place} holds other weights",
            got=found,
            allowed=model.warm_start_sha256 or "",
            fix="name the checkpoint that is meant, or leave model.warm_start_sha256 out",
        )
    here = parts.sources.tokenizers
    target = map_pieces(old.tokenizers.target, here.target)
    shared = old.tokenizers.shared and here.shared
    source = target if shared else map_pieces(old.tokenizers.source, here.source)
    take_weights(parts.model, old.model, source=rows_of(source), target=rows_of(target), name=place)
    told = str(target) if shared else f"source: {source}; target: {target}"
    progress.message(f"weights of {place}: {told}")
    named = model.model_copy(update={"warm_start": place, "warm_start_sha256": found})
    parts.recipe = parts.recipe.model_copy(update={"model": named})


def started_as(recipe: Recipe, begun: Recipe) -> Recipe:
    """The recipe with the start that the run had, where it names the same one; so that a resumed run reads nothing."""
    written, recorded = recipe.model.warm_start, begun.model.warm_start
    if written is None or recorded is None:
        return recipe
    run, _, which = written.rpartition("@")
    if written != recorded and recorded.rpartition("@")[0] != (run if which in ("last", "best") else written):
        return recipe
    kept = {"warm_start": recorded, "warm_start_sha256": begun.model.warm_start_sha256}
    return recipe.model_copy(update={"model": recipe.model.model_copy(update=kept)})


def weights_sha256(checkpoint: Checkpoint) -> str:
    """The sha256 of a checkpoint's weights, as its manifest has it."""
    return checkpoint.manifest.files.named()[MODEL].sha256


def place_of(spec: str, checkpoint: Checkpoint) -> str:
    """The one checkpoint that a name such as `RUN` stood for."""
    return spec if Path(spec) == checkpoint.folder else f"{checkpoint.run}@{checkpoint.step}"


def rows_of(pieces: PieceMap) -> RowMap:
    """The map of a vocabulary, as the model takes it."""
    return RowMap(pieces.same, pieces.spelled)
