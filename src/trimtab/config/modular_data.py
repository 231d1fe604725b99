"""Which corpora belong to which direction of a modular model, and what they have from it."""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from trimtab.config.corpora import TrainCorpus
from trimtab.config.data import DataConfig, is_one_set


def with_direction_defaults(tree: Any) -> Any:
    """The plain values of a recipe with a modular model: corpora and validation sets without tags have those of their
    direction, a corpus of both directions has a reverse one, and a set that is named as a direction is of it. What is
    no group of keys is left for others to complain of."""
    if not isinstance(tree, Mapping):
        return tree
    given = dict(cast("Mapping[str, Any]", tree))
    model, data = _group(given.get("model")), _group(given.get("data"))
    directions = _group(model.get("directions"))
    if model.get("kind") != "modular" or not directions:
        return given
    filled = dict(data)
    if isinstance(train := data.get("train"), list | tuple):
        filled["train"] = [_corpus(each, directions) for each in cast("list[Any]", train)]
    if isinstance(valid := data.get("valid"), Mapping) and not is_one_set(valid):
        filled["valid"] = {
            name: _valid_set(name, each, directions)
            for name, each in cast("Mapping[Any, Any]", valid).items()
        }
    return {**given, "data": filled} if data else given


def _group(value: Any) -> dict[str, Any]:
    return dict(cast("Mapping[str, Any]", value)) if isinstance(value, Mapping) else {}


def _corpus(corpus: Any, directions: Mapping[str, Any]) -> Any:
    if not isinstance(corpus, Mapping):
        return corpus
    given = dict(cast("Mapping[str, Any]", corpus))
    given = _tagged(given, "tags", given.get("direction"), directions)
    if given.get("both_directions") is not True:
        return given
    name = given.get("direction")
    if isinstance(name, str) and "reverse_direction" not in given:
        given["reverse_direction"] = reversed_name(name, directions)
    return _tagged(given, "reverse_tags", given.get("reverse_direction"), directions)


def _valid_set(name: Any, files: Any, directions: Mapping[str, Any]) -> Any:
    if not isinstance(files, Mapping):
        return files
    given = dict(cast("Mapping[str, Any]", files))
    if name in directions:
        given = {"direction": name, **given}
    return _tagged(given, "tags", given.get("direction"), directions)


def _tagged(given: dict[str, Any], key: str, name: Any, directions: Mapping[str, Any]) -> dict[str, Any]:
    direction = _group(directions.get(name)) if isinstance(name, str) else {}
    return {key: direction["tags"], **given} if direction.get("tags") else given


def reversed_name(name: str, directions: Mapping[str, Any]) -> str:
    """`de-en` of `en-de`, and `en-zh-Hans` of a direction that says `source: zh-Hans` and `target: en`; of another
    name that has other than two halves, the name itself."""
    direction = _group(directions.get(name))
    written = f"{direction.get('target')}-{direction.get('source')}"
    if written in directions:
        return written
    source, hyphen, target = name.partition("-")
    return f"{target}-{source}" if hyphen and "-" not in target else name


def trained_directions(data: DataConfig) -> Iterator[tuple[str, str, TrainCorpus]]:
    """The direction of each opened corpus in order, a reversed one after its own: `(key, direction, corpus)`."""
    for number, corpus in enumerate(data.train):
        yield f"data.train.{number}.direction", corpus.direction, corpus
        if corpus.both_directions:
            yield f"data.train.{number}.reverse_direction", corpus.reverse_direction, corpus


def of_direction(data: DataConfig, name: str) -> tuple[TrainCorpus, ...]:
    """The corpora of a direction as those of a plain recipe, each read in that direction alone."""
    found: list[TrainCorpus] = []
    for corpus in data.train:
        plain = {"direction": "", "reverse_direction": "", "reverse_tags": (), "both_directions": False}
        if corpus.direction == name:
            found.append(corpus.model_copy(update=plain))
        if corpus.both_directions and corpus.reverse_direction == name:
            sides = {"source": corpus.target, "target": corpus.source, "tags": corpus.reverse_tags}
            found.append(corpus.model_copy(update={**plain, **sides, "alignments": None}))
    return tuple(found)
