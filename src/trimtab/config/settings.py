"""The base of all settings: frozen, strict, every field documented."""

from pydantic import BaseModel, ConfigDict


class Settings(BaseModel):
    """One frozen node of the recipe tree; unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True, validate_default=True)
