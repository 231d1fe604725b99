"""What a kind of configuration is: how it is recognised, and how its settings map to `concepts`."""

from collections.abc import Callable, Mapping
from dataclasses import field

from trimtab.checks.description import Description, Version
from trimtab.checks.document import Dialect, Document, Syntax
from trimtab.checks.record import record


def _nothing(name: str) -> Document | None:
    return None


@record(kw_only=True)
class Surroundings:
    """What a kind may look at besides its own document."""

    versions: Mapping[str, Version] = field(default_factory=dict[str, Version])
    beside: Callable[[str], Document | None] = _nothing
    """A file of the same folder by name (`config.json`), read; None if there is none or it can't be read."""


@record(kw_only=True)
class Kind:
    """One kind of file of one tool."""

    name: str
    """As `--as` takes it: `axolotl`, `hf-training`, `peft-adapter`."""
    tool: str
    title: str
    """For people: `Axolotl YAML`."""
    syntaxes: frozenset[Syntax]
    recognises: Callable[[Document], bool]
    """By signs that no other kind has; if two kinds both say yes, the user is asked."""
    describe: Callable[[Document, Surroundings], list[Description]]
    """A script with two TrainingArguments makes two descriptions. Never raises for strange values: what has the wrong
    type is in `keys`, not in `concepts`."""
    dialect: Dialect = "pyyaml"
    """What this tool makes of a YAML scalar; `describe` gets the document read so."""
