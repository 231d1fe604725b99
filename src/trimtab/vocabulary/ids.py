"""Ids of a vocabulary in the settings of a model: found, renumbered, and named by their pieces."""

import re
from collections.abc import Callable, Iterator
from typing import Any, cast

_ID = re.compile(r"(\w+_)?token_ids?|decoder_start_token_id")
_LISTS = ("suppress_tokens", "begin_suppress_tokens", "bad_words_ids", "force_words_ids")
_PAIRS = ("forced_decoder_ids",)
"""Lists of a place and an id."""
_TABLES = ("lang_code_to_id", "lang_to_id", "task_to_id")
SIZES = ("vocab_size", "decoder_vocab_size")


def ids_of(settings: Any) -> Iterator[tuple[str, int]]:
    """Each id in `config.json` or `generation_config.json`, with the key that it stands under."""
    found: list[tuple[str, int]] = []

    def note(id: int, key: str) -> int:
        found.append((key, id))
        return id

    _walked(settings, note, "")
    yield from found


def renumbered(settings: Any, new: Callable[[int], int | None]) -> Any:
    """The settings with new ids. Lists lose what has none (a suppressed piece that is gone); elsewhere an id without a
    new one stays as it is, since only what is no row of the model has none."""
    return _walked(settings, lambda id, _: new(id), "")


def resized(settings: dict[str, Any], *, old: int, size: int) -> dict[str, Any]:
    """The settings with the new size wherever the old one stands for the vocabulary's."""
    return {key: size if key in SIZES and value == old else value for key, value in settings.items()}


def _walked(value: Any, change: Callable[[int, str], int | None], key: str) -> Any:
    if isinstance(value, dict):
        return {
            name: _changed(each, change, name, f"{key}{name}")
            for name, each in cast("dict[str, Any]", value).items()
        }
    return value


def _changed(value: Any, change: Callable[[int, str], int | None], name: str, key: str) -> Any:
    if name in _TABLES and isinstance(value, dict):
        return {word: _one(id, change, f"{key}.{word}") for word, id in cast("dict[str, Any]", value).items()}
    if name in _PAIRS and isinstance(value, list):
        return [[place, _one(id, change, key)] for place, id in cast("list[list[Any]]", value)]
    if _ID.fullmatch(name) or name in _LISTS:
        return (
            _some(cast("list[Any]", value), change, key)
            if isinstance(value, list)
            else _one(value, change, key)
        )
    return _walked(value, change, f"{key}.")


def _some(values: list[Any], change: Callable[[int, str], int | None], key: str) -> list[Any]:
    kept: list[Any] = []
    for each in values:
        if isinstance(each, list):
            row = cast("list[Any]", each)
            inner = _some(row, change, key)
            kept += [inner] if len(inner) == len(row) else []
        elif not isinstance(each, int) or each < 0:
            kept.append(each)
        elif (found := change(each, key)) is not None:
            kept.append(found)
    return kept


def _one(id: Any, change: Callable[[int, str], int | None], key: str) -> Any:
    if not isinstance(id, int) or isinstance(id, bool) or id < 0:
        return id
    found = change(id, key)
    return id if found is None else found
