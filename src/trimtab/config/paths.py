"""Relative paths of a recipe made absolute, so that a run can be moved away from its recipe."""

import os
from pathlib import Path
from typing import TypeVar

from trimtab.config.corpora import ParallelFiles
from trimtab.config.data import DataConfig
from trimtab.config.load import LoadedRecipe
from trimtab.config.run import Recipe

Files = TypeVar("Files", bound=ParallelFiles)


def resolve_paths(loaded: LoadedRecipe) -> Recipe:
    """The recipe with absolute paths and without `data.root`; `~` is the user's home. Files need not exist."""
    data = loaded.recipe.data
    folder = _absolute(loaded.folder, data.root) if data.root is not None else loaded.folder
    path = data.tokenizer.path
    tokenizer = (
        data.tokenizer
        if path is None
        else data.tokenizer.model_copy(update={"path": str(_absolute(folder, path))})
    )
    update = {
        "root": None,
        "train": tuple(_resolved(corpus, folder) for corpus in data.train),
        "valid": {name: _resolved(files, folder) for name, files in data.valid.items()},
        "tokenizer": tokenizer,
    }
    resolved: DataConfig = data.model_copy(update=update)
    return loaded.recipe.model_copy(update={"data": resolved})


def _resolved(files: Files, folder: Path) -> Files:
    if files.pairs is not None:
        return files.model_copy(update={"pairs": str(_absolute(folder, files.pairs))})
    sides = {"source": str(files.source), "target": str(files.target)}
    return files.model_copy(update={side: str(_absolute(folder, path)) for side, path in sides.items()})


def _absolute(folder: Path, path: str) -> Path:
    return Path(os.path.normpath(folder / Path(path).expanduser()))
