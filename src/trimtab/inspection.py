"""The data of a recipe, looked at before a run: counts, lengths, what would be dropped."""

import tempfile
from pathlib import Path

from trimtab.config.load import LoadedRecipe
from trimtab.config.paths import resolve_paths
from trimtab.config.run import Recipe
from trimtab.config.written import places_told
from trimtab.data.cache import default_cache
from trimtab.data.corpus import open_corpora
from trimtab.data.inspect import Report, inspect_data, render
from trimtab.data.transforms.apply import build_transforms
from trimtab.progress import Progress, Silent
from trimtab.sources import keyed_files, prepare_tokenizer

__all__ = ["Report", "inspect_recipe", "render"]


def inspect_recipe(loaded: LoadedRecipe, *, limit: int = 200_000, progress: Progress | None = None) -> Report:
    """Looks at `limit` pairs of each corpus as training would see them; leaves no files behind.

    A recipe without `data.tokenizer.path` gets a tokenizer for the occasion, from at most twice `limit` lines, so that
    its token counts are close to those of the run and not the same. Raises InputError where data cannot be read.
    """
    recipe = _hasty(resolve_paths(loaded), limit)
    with places_told(loaded):
        return _inspect(recipe, limit=limit, progress=progress or Silent())


def _inspect(recipe: Recipe, *, limit: int, progress: Progress) -> Report:
    place = {"root": Path.cwd(), "cache": default_cache()}
    train, valid = [open_corpora(configs, keys=keys, **place) for keys, configs in keyed_files(recipe)]
    pipeline = build_transforms(recipe.data.transforms)
    with tempfile.TemporaryDirectory() as folder:
        tokenizer = prepare_tokenizer(recipe, train, pipeline, folder=Path(folder), progress=progress)
        return inspect_data(
            train,
            pipeline=pipeline,
            tokenizer=tokenizer,
            max_tokens=recipe.data.max_tokens,
            valid=valid,
            limit=limit,
        )


def _hasty(recipe: Recipe, limit: int) -> Recipe:
    tokenizer = recipe.data.tokenizer
    lines = min(tokenizer.training_lines, 2 * limit)
    data = recipe.data.model_copy(
        update={"tokenizer": tokenizer.model_copy(update={"training_lines": lines})}
    )
    return recipe.model_copy(update={"data": data})
