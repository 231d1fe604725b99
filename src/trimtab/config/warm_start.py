"""What a recipe leaves out that names a run to start from: the model and the tokenizer are those of that run.

Only the run's `recipe.yaml` is read, so that `trimtab check` sees the same recipe as `trimtab train`.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from trimtab.config.read_yaml import read_yaml
from trimtab.errors import InputError, input_error

RECIPE, TOKENIZER = "recipe.yaml", "tokenizer"
"""Files of a run folder."""
SIZES = ("dim", "heads", "encoder_layers", "decoder_layers", "layers", "feed_forward")
"""What a preset decides."""
SHORT_FOR = {"layers": ("encoder_layers", "decoder_layers")}
NOT_TAKEN = (
    *("warm_start", "warm_start_sha256", "warm_start_positions", "absolute_fade", "path", "sha256"),
    *("dropout", "attention_dropout", "residual", "mup_base_dim"),
)
"""Settings of a model that belong to a run, and not to its weights."""
SAME_VOCABULARY = (
    *("kind", "model", "vocabulary_size", "character_coverage", "byte_fallback", "normalization"),
    *("transition_size", "longest_superword"),
)
"""Settings that make another tokenizer of the same lines."""
OF_THE_RUN = ("path", "vocabulary_size", "sampling")
"""Settings of a tokenizer that belong to a run, or follow from the model that it has."""
MAX_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class Started:
    """A recipe as a plain tree with what it leaves out filled in, and a line for the user about each choice."""

    tree: Any
    notes: tuple[str, ...] = ()
    from_files: Mapping[str, str] = field(default_factory=dict[str, str])
    """For each key that the files of a model filled in, such as `model.dim`, what they call it, behind the file."""


def with_start(tree: Any, *, folder: Path, begun: Path | None = None) -> Started:
    """The tree of a recipe, in which `model.warm_start` fills in model and tokenizer where nothing is written.

    A tokenizer that is written otherwise than that of the old run stays a decision of the user's, and a note says so.
    `begun` is the folder of the run where it resumes: it then takes what it had, and needs the old run no more. A
    recipe that names the sha256 of the weights was written by a run, and has everything in it. Raises InputError where
    there is no such run and the sizes of the model are left out.
    """
    model, start = group(tree, "model"), group(tree, "model").get("warm_start")
    if not isinstance(start, str) or model.get("warm_start_sha256") is not None:
        return Started(tree)
    own = read_recipe(begun / RECIPE) if begun is not None else None
    if begun is not None and own is not None and group(own, "model").get("warm_start"):
        data = _data_as_begun(group(tree, "data"), group(own, "data"))
        return Started({**tree, "model": _model(model, group(own, "model")), "data": data})
    run = next(iter(runs_named(start, folder)), None)
    old = read_recipe(run / RECIPE) if run is not None else None
    if run is None or old is None:
        if not model.keys() & {"preset", *SIZES}:
            raise input_error(
                f"model.warm_start: there is no run {start}",
                got="no recipe.yaml in it, from which the sizes of the model would be taken",
                allowed="RUN, RUN@last or RUN@500, relative to the recipe's folder",
                fix="name the folder of a run",
            )
        return Started(tree)
    filled = _model(model, group(old, "model"))
    data, notes = _data_of_run(group(tree, "data"), group(old, "data"), run=run, start=start)
    return Started({**tree, "model": filled, "data": data}, notes)


def _model(given: Mapping[str, Any], old: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a model with those of the old one for what is not written; another kind is left for others."""
    if given.get("kind", old.get("kind")) != old.get("kind"):
        return {**given}
    written = {*given, *(key for short in given for key in SHORT_FOR.get(short, ()))}
    left_out = {*NOT_TAKEN, *written, *(SIZES if "preset" in given else ())}
    if old.get("kind") == "modular":  # they follow from the directions
        left_out |= {"encoder_layers", "decoder_layers"}
    return {**{key: value for key, value in old.items() if key not in left_out}, **given}


def _data_as_begun(given: Mapping[str, Any], begun: Mapping[str, Any]) -> dict[str, Any]:
    """The data of a run that resumes, with the tokenizers that it has."""
    data = {**given}
    if "source_factors" not in given and begun.get("source_factors"):
        data["source_factors"] = begun["source_factors"]
    for key in ("tokenizer", "source_tokenizer"):
        if (own := begun.get(key)) is not None and (key not in given or isinstance(given[key], Mapping)):
            data[key] = {**own, **group(given, key)}
    return data


def _data_of_run(
    given: Mapping[str, Any], old: Mapping[str, Any], *, run: Path, start: str
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The data of a new run, with the old run's tokenizers where nothing else is written, and what to say of it."""
    if old.get("canvas") is not None or old.get("images") is not None:
        return {**given}, ()  # images have no tokenizer
    data, notes = {**given}, list[str]()
    if "source_factors" not in given and old.get("source_factors"):
        data["source_factors"] = old["source_factors"]
    separate = old.get("source_tokenizer") is not None
    if given.get("source_tokenizer") is not None and not separate:
        return data, (f"data.source_tokenizer is written, and {start} has one tokenizer for both sides",)
    if separate and "source_tokenizer" in given and given["source_tokenizer"] is None:
        return data, (f"data.source_tokenizer is null, and {start} has one",)
    own = run / TOKENIZER
    places = {"tokenizer": own / "target" if separate else own}
    if separate:
        places["source_tokenizer"] = own / "source"
    for key, place in places.items():
        written, had = group(given, key), group(old, key)
        if (key in given and not isinstance(given[key], Mapping)) or "path" in written:
            continue
        if others := [*_differing(written, had)]:
            told = ", ".join(f"{name} is {written[name]} and was {had.get(name)}" for name in others)
            notes.append(
                f"data.{key}: {told}, so a new tokenizer is trained and its pieces get the vectors of the old "
                f"pieces; leave {' and '.join(others)} out to keep the tokenizer of {start}"
            )
        elif had.get("kind", "sentencepiece") in ("sentencepiece", "byte_level_bpe", "superbpe"):
            kept = {name: value for name, value in had.items() if name not in OF_THE_RUN}
            data[key] = {**kept, **written, "path": str(place)}
    if not notes:
        notes.append(
            f"the tokenizer is that of {start}, as is the model wherever the recipe says nothing else"
        )
    if "source_factors" in data and "source_factors" not in given:
        notes.append(f"the source factors are those of {start} too")
    return data, tuple(notes)


def _differing(written: Mapping[str, Any], had: Mapping[str, Any]) -> Iterator[str]:
    """Written settings that make another tokenizer than the old run has."""
    return (
        name for name in SAME_VOCABULARY if name in written and name in had and written[name] != had[name]
    )


def runs_named(start: str, folder: Path) -> Iterator[Path]:
    """The folders of a run that a name may mean, that of the run itself for the folder of a checkpoint."""
    for name in dict.fromkeys((start, start.rpartition("@")[0])):
        if not name:
            continue
        place = Path(os.path.normpath(folder / Path(name).expanduser()))
        for run in (place, place.parent.parent if place.parent.name == "checkpoints" else place):
            if (run / RECIPE).is_file():
                yield run


def read_recipe(path: Path) -> Mapping[str, Any] | None:
    """The recipe of a run as plain values; None where it cannot be read, which opening the run explains."""
    try:
        with path.open("rb") as file:
            text = file.read(MAX_BYTES).decode("utf-8")
        tree = read_yaml(text, name=str(path)).value
    except (OSError, UnicodeDecodeError, InputError):
        return None
    return cast("Mapping[str, Any]", tree) if isinstance(tree, Mapping) else None


def group(tree: Any, key: str) -> Mapping[str, Any]:
    """A group of keys, empty where it is not written or is something else."""
    part = cast("Mapping[str, Any]", tree).get(key) if isinstance(tree, Mapping) else None
    return cast("Mapping[str, Any]", part) if isinstance(part, Mapping) else {}
