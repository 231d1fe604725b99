"""Relative paths of a recipe made absolute, so that a run can be moved away from its recipe."""

import os
from pathlib import Path
from typing import TypeVar

from trimtab.config.data import DataConfig
from trimtab.config.detector_model import DetectorModel
from trimtab.config.load import LoadedRecipe
from trimtab.config.pretrained.detectors import with_detector_files
from trimtab.config.pretrained.place import find_pretrained, where_it_is
from trimtab.config.pretrained_model import PretrainedModel
from trimtab.config.run import Model, Recipe
from trimtab.config.tokenizer import ByteTokenizer, PretrainedTokenizer, SentencePieceTokenizer, Tokenizer
from trimtab.config.transformers_model import TransformersModel


def resolve_paths(loaded: LoadedRecipe) -> Recipe:
    """The recipe with absolute paths and without `data.root`; `~` is the user's home. Files need not exist."""
    data = loaded.recipe.data
    folder = _absolute(data.root, folder=loaded.folder) if data.root is not None else loaded.folder

    def inside(path: str) -> str:
        return str(_absolute(path, folder=folder))

    update = {
        "root": None,
        "train": tuple(corpus.with_paths(inside) for corpus in data.train),
        "valid": {name: files.with_paths(inside) for name, files in data.valid.items()},
        "tokenizer": _with_path(data.tokenizer, folder),
        "source_tokenizer": data.source_tokenizer and _with_path(data.source_tokenizer, folder),
    }
    resolved: DataConfig = data.model_copy(update=update)
    model = _with_pretrained(loaded.recipe.model, loaded.folder)
    if model.warm_start is not None:
        model = model.model_copy(
            update={"warm_start": str(_absolute(model.warm_start, folder=loaded.folder))}
        )
    return loaded.recipe.model_copy(update={"data": resolved, "model": model})


def _with_pretrained(model: Model, folder: Path) -> Model:
    """A model of the hub by the folder that it was downloaded to, so that it stays the same one."""
    path = model.pretrained_path
    written = str(_absolute(path, folder=folder))
    match model:
        case DetectorModel() if path:
            return with_detector_files(model, written)
        case PretrainedModel() | TransformersModel():
            if model.sha256 is None:
                written = str(find_pretrained(path, folder=folder).path)
            return model.model_copy(update={"path": written})
        case _:
            return model


Given = TypeVar("Given", SentencePieceTokenizer, Tokenizer)


def _with_path(tokenizer: Given, folder: Path) -> Given:
    if isinstance(tokenizer, ByteTokenizer) or tokenizer.path is None:
        return tokenizer
    of_model = isinstance(tokenizer, PretrainedTokenizer)
    place = (where_it_is if of_model else _absolute)(tokenizer.path, folder=folder)
    return tokenizer.model_copy(update={"path": str(place)})


def _absolute(path: str, *, folder: Path) -> Path:
    return Path(os.path.normpath(folder / Path(path).expanduser()))
