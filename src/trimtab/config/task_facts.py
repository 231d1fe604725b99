"""The tasks, the defaults that a recipe's task has, and the recipe to start from."""

from collections.abc import Mapping
from typing import Any, assert_never, cast

from trimtab.config.task_record import TASKS, Task, TaskFacts
from trimtab.config.tasks import (
    classification,
    detection,
    diffusion,
    image_classification,
    language_model,
    recognition,
    translation,
)


def facts_of(task: Task) -> TaskFacts:
    """The facts of a task."""
    match task:
        case "translation":
            return translation.FACTS
        case "language_model":
            return language_model.FACTS
        case "classification":
            return classification.FACTS
        case "image_classification":
            return image_classification.FACTS
        case "recognition":
            return recognition.FACTS
        case "detection":
            return detection.FACTS
        case "diffusion":
            return diffusion.FACTS
        case _:
            assert_never(task)


def init_recipe(task: Task = "translation") -> str:
    """The commented recipe of `starters/` for a task: it loads as it is, with a comment at every key that a first run
    may want to change."""
    from importlib.resources import files  # late: reading recipes needs it not

    return (files("trimtab.config") / "starters" / f"{task}.yaml").read_text(encoding="utf-8")


def with_task_defaults(tree: Any) -> Any:
    """The plain values of a recipe with the defaults of its task; nothing that is written is changed, and what is no
    group of keys or no task is left for others to complain of."""
    if not isinstance(tree, Mapping):
        return tree
    given = dict(cast("Mapping[str, Any]", tree))
    if given.get("task") not in TASKS:
        return given
    facts = facts_of(given["task"])
    if isinstance(given.get("model"), Mapping):
        given = _filled(given, ["model", "kind"], facts.model_kinds[0])
    step = given.get("step")
    no_average = isinstance(step, Mapping) and "ema" in step and step["ema"] is None
    for path, value in facts.defaults:
        if path == "evaluate.weights" and no_average:
            continue
        given = _filled(given, path.split("."), value)
    data = given.get("data")
    tokenizer = cast("Mapping[str, Any]", data).get("tokenizer", {}) if isinstance(data, Mapping) else None
    is_sentencepiece = (
        isinstance(tokenizer, Mapping) and _kind(cast("Mapping[str, Any]", tokenizer)) == "sentencepiece"
    )
    if facts.normalization is not None and is_sentencepiece:
        given = _filled(given, ["data", "tokenizer", "normalization"], facts.normalization)
    return given


def _kind(tokenizer: Mapping[str, Any]) -> Any:
    return tokenizer.get("kind", "sentencepiece")


def _filled(group: Mapping[str, Any], path: list[str], value: Any) -> dict[str, Any]:
    """The group with a value at a path, unless one stands there or something on the way is no group of keys."""
    name, *rest = path
    if not rest:
        return {name: value, **group}
    below = group.get(name, {})
    if not isinstance(below, Mapping):
        return dict(group)
    return {**group, name: _filled(cast("Mapping[str, Any]", below), rest, value)}
