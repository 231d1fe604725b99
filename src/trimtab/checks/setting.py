"""One setting of a run: its value as the tool takes it, as the file has it, and where it stands."""

from typing import Any, Literal

from trimtab.checks.place import Place
from trimtab.checks.record import record

Origin = Literal["file", "default", "beside"]
"""Written in this file; the tool's own default; or read from a file beside it (the model's config.json)."""


@record(kw_only=True)
class Setting:
    """What one key says. A setting whose value is not a literal has no `Setting` at all: it is unknown."""

    key: str
    """The key as written, dotted where it is nested: `training.optim`, `lora_config.r`."""
    value: Any
    """As the tool takes it, after its own conversion: 0.0001 where a tool reads the text `1e-4` as a number."""
    place: Place
    """The key (or the keyword argument, or the option); of a default, the file."""
    value_place: Place | None = None
    raw: str = ""
    """The value's characters in the file, quotes included."""
    parsed: Any = None
    """What the file's own syntax makes of it, before the tool converts: the text `1e-4` under YAML 1.1."""
    origin: Origin = "file"
    is_option: bool = False
    """Whether it is the default of an option of the script, which a command line may replace."""

    @property
    def is_written(self) -> bool:
        """Whether a person wrote it in this file."""
        return self.origin == "file"
