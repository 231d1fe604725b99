"""What a recipe leaves out that names a pretrained model: sizes and tokenizer are those of the model."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from trimtab.config.data import DataConfig
from trimtab.config.pretrained.families import NATIVE, check_task, family_of
from trimtab.config.pretrained.module_shapes import read_module
from trimtab.config.pretrained.place import CONFIG, Place, find_pretrained
from trimtab.config.pretrained.shapes import Found, names_in_files, read_settings, read_shape
from trimtab.config.pretrained.trocr_shapes import read_trocr
from trimtab.config.warm_start import RECIPE, Started, group, read_recipe
from trimtab.errors import InputError, Problem

KINDS = ("pretrained", "transformers", "trocr")
"""What a recipe may call a pretrained model: the others are what a run records where a module computes it."""
OF_OTHERS = frozenset(
    {"model", "character_coverage", "byte_fallback", "normalization", "training_lines", "sampling"}
)
"""Settings of a tokenizer that no pretrained one has."""
OF_IMAGES = ("fit", "size", "channels")
"""Keys of `data.images` that a pretrained model decides."""
LONGEST = DataConfig.model_fields["max_tokens"].default


def with_pretrained(tree: Any, *, folder: Path, begun: Path | None = None) -> Started:
    """The tree of a recipe, in which `model: {kind: pretrained, path: ...}` fills in the sizes of the model and, where
    nothing is written, its tokenizer.

    `begun` is the folder of the run where it resumes: it then takes what it had, and reads no other file. A recipe that
    names the sha256 of the weights was written by a run, and has everything in it. Raises InputError where there is no
    such model, it is of another architecture, and where a size is written that it does not have.
    """
    model = group(tree, "model")
    path = model.get("path")
    if model.get("kind") not in KINDS or not isinstance(path, str):
        return Started(tree)
    if model.get("sha256") is not None and "num_ids" in model:
        return Started(tree)
    own = read_recipe(begun / RECIPE) if begun is not None else None
    if own is not None and group(own, "model").get("kind") in KINDS:
        kept = group(own, "model")
        # The folder may have been moved since, or be a name of the hub.
        moved = (folder / Path(path).expanduser()).exists()
        filled = {**kept, **model, "kind": kept["kind"], "path": path if moved else kept.get("path", path)}
        again = _with_tokenizer({**tree, "model": filled}, group(own, "data").get("tokenizer"))
        if kept["kind"] == "trocr":
            images = group(group(own, "data"), "images")
            again = _with_images(again, {key: images[key] for key in OF_IMAGES if key in images})
        return Started(_within(again, group(own, "data").get("max_tokens", LONGEST)))
    place = find_pretrained(path, folder=folder)
    found, kind = read_pretrained_model(place, task=str(tree.get("task", "translation")))
    _refuse_others(model, found, path=path)
    window = group(tree, "data").get("max_tokens", 0)
    if isinstance(window, int) and window > found.window:
        raise InputError(_too_long(window, found.window, path=path))
    filled = _with_tokenizer(
        {**tree, "model": {**found.shape, **model, "kind": kind}},
        {"kind": "pretrained", "path": str(place.path), "vocabulary_size": found.shape["num_ids"]},
    )
    filled = _with_images(filled, found.images)
    told = names_in_files(place)
    from_files = {f"model.{key}": name for key, name in told.items() if key not in model}
    return Started(
        _within(filled, found.window), (f"the sizes of the model are those of {path}",), from_files
    )


def read_pretrained_model(place: Place, *, task: str) -> tuple[Found, str]:
    """What the files say, and the kind of model that computes it. Raises InputError for files of another task, of a
    family that is not supported, or with settings that trimtab cannot compute."""
    if place.is_gguf:
        check_task(NATIVE, "GGUF", task=task, name=str(place.path))
        return read_shape(place), "pretrained"
    path = place.path / CONFIG
    settings = read_settings(path)
    family = family_of(settings, task=task, name=str(path))
    if family.class_name is None:
        return read_shape(place), "pretrained"
    if family.facts.reads_images:
        return read_trocr(place, settings), "trocr"
    return read_module(place, family, settings), "transformers"


def _within(tree: dict[str, Any], window: Any) -> dict[str, Any]:
    """The tree with a default of `data.max_tokens` that the model can read."""
    data = tree.get("data")
    if not isinstance(data, Mapping) or not isinstance(window, int) or window >= LONGEST:
        return tree
    return {**tree, "data": {"max_tokens": window, **cast("Mapping[str, Any]", data)}}


def _with_tokenizer(tree: Mapping[str, Any], tokenizer: Any) -> dict[str, Any]:
    """The tree with this tokenizer, unless one is written."""
    data = tree.get("data")
    if tokenizer is None or not isinstance(data, Mapping):
        return {**tree}
    written = cast("Mapping[str, Any]", data).get("tokenizer", {})
    if not isinstance(written, Mapping):
        return {**tree}
    given = cast("Mapping[str, Any]", written)
    if given.get("kind", "pretrained") != "pretrained" or "path" in given or given.keys() & OF_OTHERS:
        return {**tree}
    return {**tree, "data": {**cast("Mapping[str, Any]", data), "tokenizer": {**tokenizer, **given}}}


def _with_images(tree: dict[str, Any], images: Mapping[str, Any]) -> dict[str, Any]:
    """The tree with these keys of `data.images` where it does not write them."""
    data = tree.get("data")
    written = cast("Mapping[str, Any]", data).get("images", {}) if isinstance(data, Mapping) else None
    if not images or not isinstance(written, Mapping):
        return tree
    given = {**images, **cast("Mapping[str, Any]", written)}
    return {**tree, "data": {**cast("Mapping[str, Any]", data), "images": given}}


def _refuse_others(model: Mapping[str, Any], found: Found, *, path: str) -> None:
    problems = [
        Problem(
            what=f"model.{key}: {path} has another value",
            got=f"{key}: {model[key]}",
            allowed=str(value),
            fix=f"leave `model.{key}` out, or train a model of its own, of another kind",
        )
        for key, value in found.shape.items()
        if key in model and model[key] != value and (key != "dropout" or "settings" not in found.shape)
    ]
    if problems:
        raise InputError(*problems)


def _too_long(got: int, window: int, *, path: str) -> Problem:
    return Problem(
        what=f"data.max_tokens: {path} was not trained on sequences of this length",
        got=f"{got:,}",
        allowed=f"at most {window:,}",
        fix=f"set `data.max_tokens: {window}` or less",
    )
