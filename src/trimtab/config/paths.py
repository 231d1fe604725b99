"""Relative paths of a recipe made absolute, so that a run can be moved away from its recipe."""

import json
import os
from pathlib import Path
from typing import TypeVar

from trimtab.config.data import DataConfig
from trimtab.config.detector_model import DetectorModel
from trimtab.config.diffusion_model import DiffusionModel
from trimtab.config.load import LoadedRecipe
from trimtab.config.pretrained.module_shapes import NOT_KEPT
from trimtab.config.pretrained.place import CONFIG, find_pretrained, where_it_is
from trimtab.config.pretrained.shapes import read_settings
from trimtab.config.pretrained_model import PretrainedModel
from trimtab.config.run import Model, Recipe
from trimtab.config.tokenizer import ByteTokenizer, PretrainedTokenizer, SentencePieceTokenizer, Tokenizer
from trimtab.config.transformers_model import TransformersModel
from trimtab.errors import input_error

OF_CATEGORIES = ("id2label", "label2id", "num_labels", "architectures", "model_type")
"""Settings that the run has of its own."""


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
    loss = loaded.recipe.loss
    if (matching := loss.feature_matching) is not None:
        teacher = str(_absolute(matching.teacher, folder=loaded.folder))
        loss = loss.model_copy(update={"feature_matching": matching.model_copy(update={"teacher": teacher})})
    return loaded.recipe.model_copy(update={"data": resolved, "model": model, "loss": loss})


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
        case DiffusionModel() if model.autoencoder is not None:
            kept = str(_absolute(model.autoencoder, folder=folder))
            return model.model_copy(update={"autoencoder": kept})
        case _:
            return model


def with_detector_files(model: DetectorModel, path: str) -> DetectorModel:
    """The model with an absolute path, and with what config.json there says unless the recipe has recorded it. Raises
    InputError where the folder is none of this architecture."""
    if model.settings:
        return model.model_copy(update={"path": path})
    settings = read_settings(Path(path) / CONFIG)
    kind = settings.get("model_type")
    if kind != model.architecture:
        raise input_error(
            f"model.path: {path} is no model of this architecture",
            got=f"model_type {kind}",
            allowed=model.architecture,
            fix=f"set `model.architecture: {kind}`, if it is one of d_fine, rt_detr_v2, deimv2 and detr",
        )
    kept = {key: value for key, value in settings.items() if key not in (*NOT_KEPT, *OF_CATEGORIES)}
    update = {"path": path, "settings": json.dumps(kept, sort_keys=True, ensure_ascii=False)}
    sizes = {"dim": "d_model", "queries": "num_queries", "decoder_layers": "decoder_layers"}
    found = {key: settings[name] for key, name in sizes.items() if type(settings.get(name)) is int}
    return model.model_copy(update={**update, **found})


Given = TypeVar("Given", SentencePieceTokenizer, Tokenizer)


def _with_path(tokenizer: Given, folder: Path) -> Given:
    if isinstance(tokenizer, ByteTokenizer) or tokenizer.path is None:
        return tokenizer
    of_model = isinstance(tokenizer, PretrainedTokenizer)
    place = (where_it_is if of_model else _absolute)(tokenizer.path, folder=folder)
    return tokenizer.model_copy(update={"path": str(place)})


def _absolute(path: str, *, folder: Path) -> Path:
    return Path(os.path.normpath(folder / Path(path).expanduser()))
