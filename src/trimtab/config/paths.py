"""Relative paths of a recipe made absolute, so that a run can be moved away from its recipe."""

import os
from pathlib import Path
from typing import TypeVar

from trimtab.config.data import DataConfig
from trimtab.config.load import LoadedRecipe
from trimtab.config.run import Recipe
from trimtab.config.tokenizer import ByteTokenizer, SentencePieceTokenizer


def resolve_paths(loaded: LoadedRecipe) -> Recipe:
    """The recipe with absolute paths and without `data.root`; `~` is the user's home. Files need not exist."""
    data = loaded.recipe.data
    folder = _absolute(loaded.folder, data.root) if data.root is not None else loaded.folder

    def inside(path: str) -> str:
        return str(_absolute(folder, path))

    update = {
        "root": None,
        "train": tuple(corpus.with_paths(inside) for corpus in data.train),
        "valid": {name: files.with_paths(inside) for name, files in data.valid.items()},
        "tokenizer": _with_path(data.tokenizer, folder),
        "source_tokenizer": data.source_tokenizer and _with_path(data.source_tokenizer, folder),
    }
    resolved: DataConfig = data.model_copy(update=update)
    model = loaded.recipe.model
    if model.warm_start is not None:
        model = model.model_copy(update={"warm_start": str(_absolute(loaded.folder, model.warm_start))})
    return loaded.recipe.model_copy(update={"data": resolved, "model": model})


Given = TypeVar("Given", SentencePieceTokenizer, SentencePieceTokenizer | ByteTokenizer)


def _with_path(tokenizer: Given, folder: Path) -> Given:
    if isinstance(tokenizer, ByteTokenizer) or tokenizer.path is None:
        return tokenizer
    return tokenizer.model_copy(update={"path": str(_absolute(folder, tokenizer.path))})


def _absolute(folder: Path, path: str) -> Path:
    return Path(os.path.normpath(folder / Path(path).expanduser()))
