"""A recipe as YAML text that reads back as the same recipe; what a run folder keeps."""

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, cast

from trimtab.config.corpora import TrainCorpus, ValidFiles
from trimtab.config.data import DataConfig
from trimtab.config.run import Recipe
from trimtab.config.settings import Settings
from trimtab.config.tokenizer import PretrainedTokenizer

_PLAIN = re.compile(r"(?:[A-Za-z_/]|\.\.?/|~/)[\w./+=~@-]*(?: [\w./+=~@-]+)*|[0-9.]+ [a-z]+", re.ASCII)
_WORDS_OF_YAML = {"null", "true", "false", "yes", "no", "on", "off", "y", "n"}
"""Not text; the last six only to readers of YAML 1.1."""


def render_recipe(recipe: Recipe) -> str:
    """Every value in the order of the settings, defaults written out; keys that are off or empty by default are not."""
    return "\n".join(_group(_fields(recipe), indent=0)) + "\n"


def _fields(settings: Settings) -> dict[str, Any]:
    fields = type(settings).model_fields
    values = {name: getattr(settings, name) for name in fields}
    if isinstance(settings, TrainCorpus | ValidFiles) and settings.is_one_path:
        del values["source"], values["target"]  # are the same path, and filled in again when it is read
    of_images = isinstance(settings, DataConfig) and (
        settings.images is not None or settings.canvas is not None
    )
    if of_images and not isinstance(values["tokenizer"], PretrainedTokenizer):
        del values["tokenizer"]  # that nothing reads
    off: tuple[Any, ...] = (None, "", (), {})
    return {
        name: value for name, value in values.items() if value not in off or value != fields[name].default
    }


def _group(values: Mapping[str, Any], *, indent: int) -> Iterator[str]:
    """Lines of `key: value`, each group indented below its key."""
    for key, value in values.items():
        head = " " * indent + _text(key) + ":"
        if isinstance(value, Settings):
            value = _fields(value)
        if isinstance(value, Mapping) and value:
            yield head
            yield from _group(cast("Mapping[str, Any]", value), indent=indent + 2)
        elif isinstance(value, tuple) and any(
            isinstance(item, Settings) for item in cast("tuple[Any, ...]", value)
        ):
            yield head
            for item in cast("tuple[Any, ...]", value):
                yield from _item(item, indent=indent)
        else:
            yield f"{head} {_scalar(value)}"


def _item(item: Any, *, indent: int) -> Iterator[str]:
    if not isinstance(item, Settings):
        yield f"{' ' * (indent + 2)}- {_scalar(item)}"
        return
    lines = list(_group(_fields(item), indent=indent + 4))
    yield f"{' ' * (indent + 2)}- {lines[0].lstrip()}"
    yield from lines[1:]


def _scalar(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, Mapping):
        return "{}"
    if isinstance(value, tuple):
        return f"[{', '.join(_scalar(item) for item in cast('tuple[Any, ...]', value))}]"
    return _text(str(value))


def _number(value: float) -> str:
    """The shortest digits that give the same float, as `0.9995` or `5.0e-4`; always with a point."""
    exact = Decimal(repr(value))
    if value == 0 or -4 < exact.adjusted() < 16:
        text = f"{exact:f}"
        return text if "." in text else f"{text}.0"
    sign, digits, _ = exact.normalize().as_tuple()
    mantissa = "".join(str(digit) for digit in digits)
    return f"{'-' if sign else ''}{mantissa[0]}.{mantissa[1:] or '0'}e{exact.adjusted()}"


def _text(text: str) -> str:
    """Plain where YAML reads it back as the same text, otherwise between double quotes."""
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS_OF_YAML:
        return text
    return f'"{"".join(_escaped(character) for character in text)}"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
