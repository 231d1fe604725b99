"""The data of a recipe, looked at before a run: counts, lengths, what would be dropped."""

import tempfile
from dataclasses import replace
from pathlib import Path

from trimtab.config.load import LoadedRecipe
from trimtab.config.paths import resolve_paths
from trimtab.config.run import Recipe
from trimtab.config.tokenizer import SentencePieceTokenizer, Tokenizer
from trimtab.config.written import places_told
from trimtab.data.cache import default_cache
from trimtab.data.checks import check_data
from trimtab.data.corpus import open_corpora
from trimtab.data.inspect import Report, inspect_data, render
from trimtab.data.stages import plan_stages, shares_of
from trimtab.data.text_rows import passage_bytes
from trimtab.data.text_tokenizers import prepare_text_tokenizers
from trimtab.data.tokenizers import prepare_tokenizers
from trimtab.data.transforms.apply import build_transforms
from trimtab.errors import input_error
from trimtab.progress import Progress, Silent
from trimtab.sources import keyed_files

__all__ = ["Report", "inspect_recipe", "render"]


def inspect_recipe(loaded: LoadedRecipe, *, limit: int = 200_000, progress: Progress | None = None) -> Report:
    """Looks at `limit` pairs of each corpus as training would see them, and checks every line for what does not belong
    together or stands there twice, about a minute for each million; leaves no files behind.

    A recipe without `data.tokenizer.path` gets a tokenizer for the occasion, from at most twice `limit` lines, so that
    its token counts are close to those of the run and not the same. Of a language model the pairs are looked at, not
    the texts. Raises InputError where data cannot be read, and where there are texts alone.
    """
    recipe = resolve_paths(loaded)
    with places_told(loaded):
        if not recipe.translates:
            raise input_error(
                "data.train: its documents are no pairs, which is what is inspected",
                got="task: language_model, with texts alone",
                allowed="a recipe with source and target among data.train",
                fix="see that a text is read with `trimtab train RECIPE --smoke`; data_ledger.json counts its passages",
            )
        recipe = _hasty(recipe, limit)
        return _inspect(recipe, limit=limit, progress=progress or Silent())


def _inspect(recipe: Recipe, *, limit: int, progress: Progress) -> Report:
    one_row = recipe.is_language_model
    place = {"root": Path.cwd(), "cache": default_cache()}
    most = passage_bytes(recipe.data) if one_row else None
    train, valid = [
        open_corpora(configs, keys=keys, passage_bytes=most, **place) for keys, configs in keyed_files(recipe)
    ]
    # Validation sets are called as the recipe calls them.
    valid = [replace(corpus, name=name) for name, corpus in zip(recipe.data.valid, valid, strict=True)]
    pairs, held = [[each for each in corpora if not each.has_documents] for corpora in (train, valid)]
    pipeline = build_transforms(recipe.data.transforms)
    prepare = prepare_text_tokenizers if one_row else prepare_tokenizers
    with tempfile.TemporaryDirectory() as folder:
        report = inspect_data(
            pairs,
            pipeline=pipeline,
            tokenizers=prepare(recipe.data, train, pipeline, folder=Path(folder), progress=progress),
            max_tokens=recipe.data.max_tokens,
            one_row=one_row,
            valid=held,
            limit=limit,
        )
    stages = plan_stages(recipe.data, train, seed=recipe.seed)
    progress.message("checking every line")
    checks = check_data(pairs, held)
    return replace(report, checks=checks, stages=shares_of(stages, [corpus.name for corpus in train]))


def _hasty(recipe: Recipe, limit: int) -> Recipe:
    target, source = recipe.data.tokenizer, recipe.data.source_tokenizer
    update = {"tokenizer": _of_lines(target, 2 * limit if source is None else limit)}
    if source is not None:
        update["source_tokenizer"] = _of_lines(source, limit)
    data = recipe.data.model_copy(update=update)
    return recipe.model_copy(update={"data": data})


def _of_lines(tokenizer: Tokenizer, limit: int) -> Tokenizer:
    if not isinstance(tokenizer, SentencePieceTokenizer):
        return tokenizer
    return tokenizer.model_copy(update={"training_lines": min(tokenizer.training_lines, limit)})
