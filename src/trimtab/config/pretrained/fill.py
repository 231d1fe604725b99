"""What a recipe leaves out that names a pretrained model: sizes and tokenizer are those of the model."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from trimtab.config.pretrained.place import find_pretrained
from trimtab.config.pretrained.shapes import Found, read_shape
from trimtab.config.warm_start import RECIPE, Started, group, read_recipe
from trimtab.errors import InputError, Problem


def with_pretrained(tree: Any, *, folder: Path, begun: Path | None = None) -> Started:
    """The tree of a recipe, in which `model: {kind: pretrained, path: ...}` fills in the sizes of the model and, where
    nothing is written, its tokenizer.

    `begun` is the folder of the run where it resumes: it then takes what it had, and reads no other file. A recipe that
    names the sha256 of the weights was written by a run, and has everything in it. Raises InputError where there is no
    such model, it is of another architecture, and where a size is written that it does not have.
    """
    model = group(tree, "model")
    path = model.get("path")
    if model.get("kind") != "pretrained" or not isinstance(path, str):
        return Started(tree)
    if model.get("sha256") is not None and "num_ids" in model:
        return Started(tree)
    own = read_recipe(begun / RECIPE) if begun is not None else None
    if own is not None and group(own, "model").get("kind") == "pretrained":
        kept = group(own, "model")
        # The folder may have been moved since, or be a name of the hub.
        moved = (folder / Path(path).expanduser()).exists()
        filled = {**kept, **model, "path": path if moved else kept.get("path", path)}
        return Started(_with_tokenizer({**tree, "model": filled}, group(own, "data").get("tokenizer")))
    place = find_pretrained(path, folder=folder)
    found = read_shape(place)
    _refuse_others(model, found, path=path)
    window = group(tree, "data").get("max_tokens", 0)
    if isinstance(window, int) and window > found.window:
        raise InputError(_too_long(window, found.window, path=path))
    filled = _with_tokenizer(
        {**tree, "model": {**found.shape, **model}},
        {"kind": "pretrained", "path": str(place.path), "vocabulary_size": found.shape["num_ids"]},
    )
    return Started(filled, (f"the sizes of the model are those of {path}",))


def _with_tokenizer(tree: Mapping[str, Any], tokenizer: Any) -> dict[str, Any]:
    """The tree with this tokenizer, unless one is written."""
    data = tree.get("data")
    if tokenizer is None or not isinstance(data, Mapping) or "tokenizer" in data:
        return {**tree}
    return {**tree, "data": {**cast("Mapping[str, Any]", data), "tokenizer": tokenizer}}


def _refuse_others(model: Mapping[str, Any], found: Found, *, path: str) -> None:
    problems = [
        Problem(
            what=f"model.{key}: {path} has another value",
            got=f"{key}: {model[key]}",
            allowed=str(value),
            fix=f"leave `model.{key}` out, or train a model of its own with `kind: decoder`",
        )
        for key, value in found.shape.items()
        if key in model and model[key] != value
    ]
    if problems:
        raise InputError(*problems)


def _too_long(got: int, window: int, *, path: str) -> Problem:
    return Problem(
        what=f"data.max_tokens: {path} has not learned to read so many tokens",
        got=f"{got:,}",
        allowed=f"at most {window:,}",
        fix=f"set `data.max_tokens: {window}` or less",
    )
