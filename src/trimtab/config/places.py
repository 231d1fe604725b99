"""The schema of each place in a recipe, read from the settings classes."""

import ast
import inspect
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from types import UnionType
from typing import Annotated, Any, Union, cast, get_args, get_origin

from trimtab.config.data import is_one_set
from trimtab.config.run import Recipe
from trimtab.config.settings import Settings, default_kinds


@dataclass(frozen=True, slots=True)
class Place:
    """One place of the recipe tree: its type, its bounds, and the kind it has where none is written."""

    annotation: Any
    bounds: tuple[Any, ...] = ()
    default_kind: str = ""
    default: Any = None
    """What stands here where nothing is written; None if something must be."""
    group: type[Settings] | None = field(default=None, compare=False)
    """Whose key it is; None for the root, and for the items of lists."""
    key: str = field(default="", compare=False)

    @property
    def meaning(self) -> str:
        """What its group says of it; empty where it is no key."""
        return "" if self.group is None else meanings(self.group).get(self.key, "")

    @property
    def choices(self) -> tuple[Any, ...]:
        """The types that are allowed here, unions taken apart."""
        return tuple(_taken_apart(self.annotation))

    @property
    def models(self) -> tuple[type[Settings], ...]:
        """The groups of keys that are allowed here."""
        return tuple(
            choice for choice in self.choices if isinstance(choice, type) and issubclass(choice, Settings)
        )

    @property
    def item(self) -> "Place | None":
        """What each item of a list, or each value under a name, may be."""
        for choice in self.choices:
            arguments = get_args(choice)
            if get_origin(choice) is tuple:
                return Place(arguments[0])
            if get_origin(choice) is dict:
                return Place(arguments[1])
        return None

    @property
    def named(self) -> bool:
        """Whether the items have names of the user's choice."""
        return any(get_origin(choice) is dict for choice in self.choices)

    def model_for(self, group: Mapping[str, Any]) -> type[Settings] | None:
        """The group that is meant, by its `kind`; None if the kind is not known."""
        models = self.models
        if len(models) == 1:
            return models[0]
        kind = group.get("kind", self.default_kind)
        return next((model for model in models if kind_of(model) == kind), None)

    def below(self, value: Any, name: str) -> "Place | None":
        """The place of the child `name` of `value`, or None if there is none."""
        if isinstance(value, Mapping):
            group = cast("Mapping[str, Any]", value)
            if self.named and self.item is not None:
                return self.item.below(group, name) if is_one_set(group) else self.item
            model = self.model_for(group)
            return field_of(model, model.shorthands.get(name, (name,))[0]) if model is not None else None
        return self.item if isinstance(value, list) and not self.named else None


ROOT = Place(Recipe)


def place_of(path: str, tree: Any, *, root: Place = ROOT) -> Place | None:
    """What may be written at a dotted path of this tree; `root` is what the whole of it is, by default a recipe."""
    place, value = root, tree
    for name in path.split("."):
        below = place.below(value, name)
        if below is None:
            return None
        place, value = below, child(value, name)
    return place


def child(value: Any, name: str) -> Any:
    """The value under a key or an index, None if there is none."""
    if isinstance(value, Mapping):
        return cast("Mapping[str, Any]", value).get(name)
    if isinstance(value, list) and name.isdigit():
        items = cast("list[Any]", value)
        return items[int(name)] if int(name) < len(items) else None
    return None


def kind_of(model: type[Settings]) -> str:
    """The `kind` by which a group is chosen."""
    info = model.model_fields.get("kind")
    return str(get_args(info.annotation)[0]) if info is not None else ""


def keys_of(model: type[Settings]) -> tuple[str, ...]:
    """The keys that may be written in a group."""
    return (*model.model_fields, *model.shorthands)


@cache
def known_keys() -> tuple[str, ...]:
    """Every key of a recipe as a dotted path; items of lists have the index 0, names are left out."""
    return tuple(dict.fromkeys(_keys_below(ROOT, "")))


def _keys_below(place: Place, path: str) -> Iterator[str]:
    for model in place.models:
        for key in keys_of(model):
            yield path + key
            if (below := field_of(model, key)) is not None:
                yield from _keys_below(below, f"{path}{key}.")
    if place.item is not None:
        yield from _keys_below(place.item, path if place.named else f"{path}0.")


def field_of(model: type[Settings], name: str) -> Place | None:
    """The place of a key of a group, None if it has no such field."""
    info = model.model_fields.get(name)
    if info is None:
        return None
    kind = default_kinds(model).get(name, "")
    default = None if info.is_required() else info.default
    return Place(info.annotation, tuple(info.metadata), kind, default, model, name)


@cache
def meanings(model: type[Settings]) -> Mapping[str, str]:
    """The text below each field of a group and of those it inherits from.

    pydantic would read the sources of all groups for it whenever they are imported (`use_attribute_docstrings`), which
    took a quarter of the time of `trimtab check RECIPE`.
    """
    above = [each for each in reversed(model.__mro__) if issubclass(each, Settings)]
    return {key: text for each in above for key, text in _field_texts(each.__module__)[each.__name__].items()}


@cache
def _field_texts(module: str) -> Mapping[str, Mapping[str, str]]:
    """For each class at the top of a module, the strings that follow its annotated names."""
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    return {each.name: dict(_texts_below(each.body)) for each in classes}


def _texts_below(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    for above, below in pairwise(body):
        match above, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                yield name, inspect.cleandoc(text)
            case _:
                pass


def _taken_apart(annotation: Any) -> Iterator[Any]:
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from _taken_apart(get_args(annotation)[0])
    elif origin in (Union, UnionType):
        for part in get_args(annotation):
            yield from _taken_apart(part)
    else:
        yield annotation
