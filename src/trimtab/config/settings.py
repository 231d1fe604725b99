"""The base of all settings: frozen, strict, every field documented."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, TypeVar, cast

from pydantic import BaseModel, ConfigDict, model_validator
from pydantic_core import PydanticCustomError

Group = TypeVar("Group", bound="Settings")


class Settings(BaseModel):
    """One frozen node of the recipe tree; unknown keys are errors."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, validate_default=True, allow_inf_nan=False, defer_build=True
    )

    shorthands: ClassVar[Mapping[str, tuple[str, ...]]] = MappingProxyType({})
    """Keys that may be written and are resolved before validation, each into these fields where they are not given."""

    usual_kinds: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """The kinds of groups that must be written and may leave their `kind` out."""

    @classmethod
    def defaults(cls: type[Group]) -> Group:
        """The group with the defaults of all its fields, for use as a default. It is not validated, because building a
        validator for each group would take a sixth of the time to import the recipe's settings."""
        return cls.model_construct()

    @model_validator(mode="before")
    @classmethod
    def _kind_of_the_default(cls, value: Any) -> Any:
        """A group written without its `kind` has the kind of its default: `clip: {at: 2}` clips the global norm."""
        if not isinstance(value, Mapping):
            return value
        given = dict(cast("Mapping[str, Any]", value))
        for name, kind in default_kinds(cls).items():
            part = given.get(name)
            if isinstance(part, Mapping) and "kind" not in part:
                given[name] = {"kind": kind, **cast("Mapping[str, Any]", part)}
        return given


def refused(key: str, what: str, *, got: str, allowed: str, fix: str) -> PydanticCustomError:
    """What a validator raises to say all that a message of ours says; `key` is the field of the validated group that
    it is about, or empty for the group (or the field) itself."""
    told = {"key": key, "what": what, "got": got, "allowed": allowed, "fix": fix}
    return PydanticCustomError("refused", "{what}", told)


def default_kinds(model: type[Settings]) -> dict[str, str]:
    """For each field whose default is a group with a `kind`, that kind; and the usual kinds of others."""
    defaults = {name: field.default for name, field in model.model_fields.items()}
    kinds = {name: default.kind for name, default in defaults.items() if hasattr(default, "kind")}
    return {**kinds, **model.usual_kinds}
