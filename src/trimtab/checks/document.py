"""A file taken apart without knowing yet which tool it belongs to: keys and values of YAML or JSON, calls of Python,
options of a command line."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, Final, Literal

from trimtab.checks.place import Place
from trimtab.checks.record import record

Syntax = Literal["yaml", "json", "python", "shell"]
"""A notebook is the Python of its cells, with the places of the notebook file."""

Dialect = Literal["pyyaml", "omegaconf", "yaml12"]
"""Whose reading of YAML scalars: PyYAML's safe loader (YAML 1.1; nearly every tool), OmegaConf's (LLaMA-Factory), or
YAML 1.2 (our own recipes). `read.scalars` has the rules."""


class _Unknown:
    """What is written but is no literal, so that nobody knows its value without running it."""

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN: Final = _Unknown()


@record(kw_only=True)
class Entry:
    """A key with its value: of a mapping, of a call, or of a command line."""

    key: str
    """Dotted path from the root: `data.train.0.source`; of a call the argument's name."""
    value: Any
    """Plain value as the file's syntax reads it (dict, list, str, int, float, bool, None), or UNKNOWN."""
    raw: str
    place: Place
    value_place: Place
    is_option: bool = False
    """Of a script: whether the value is the default of an option, which a command line may replace."""


@record(kw_only=True)
class Call:
    """A call in a script whose name the readers know, or a command with its options."""

    name: str
    """Last part of the dotted name: `TrainingArguments`, `from_pretrained`; of a command the program:
    `llamafactory-cli`."""
    qualifier: str = ""
    """The part before the last dot, if it is a plain name: `AutoModelForCausalLM`."""
    arguments: Mapping[str, Entry] = field(default_factory=dict[str, Entry])
    positional: Sequence[Any] = ()
    has_rest: bool = False
    """Whether `**something` may set arguments that cannot be seen."""
    place: Place


@record
class Repeated:
    """A key that one mapping has twice, of which most readers silently take the last."""

    key: str
    """Dotted path."""
    first: Place
    again: Place
    is_same: bool
    """Whether both are written with the same value."""


@record(kw_only=True)
class Document:
    """One file, read by its syntax alone."""

    path: str
    syntax: Syntax
    text: str
    tree: Any = None
    """Of YAML and JSON: plain nested values; UNKNOWN does not occur."""
    entries: Mapping[str, Entry] = field(default_factory=dict[str, Entry])
    """Of YAML and JSON: every key, at every depth, by its dotted path, in the order of the file."""
    calls: tuple[Call, ...] = ()
    """Of Python and of a command line, in the order of the file."""
    commands: tuple[Call, ...] = ()
    """Of a notebook: the commands of its cells (`!torchrun train.py`), which are among the `calls` too."""
    parsed: tuple[Call, ...] = ()
    """Of Python: classes that a parser of dataclasses fills (`HfArgumentParser`), with the defaults that the script
    gives their fields; the name is that of the library's class."""
    imports: frozenset[str] = frozenset()
    """Of Python: top-level packages that are imported."""
    sources: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    """Of Python: what `from ... import` brings, by its name there, to the top-level packages that it comes from; an
    empty text for a package of the script's own."""
    flow: Any = field(default=None, repr=False, compare=False)
    """Of Python: the `read.flow.values.Flow` of a script that uses a library of the field; `read.flow.of` gives it."""
    comments: tuple[tuple[int, str], ...] = ()
    """Line and text of each comment, without its `#`; for suppressions."""
    repeated: tuple[Repeated, ...] = ()
    """Of YAML and JSON."""
    nodes: Any = field(default=None, repr=False, compare=False)
    """Of YAML and JSON: the root of `read.nodes`, scalars unresolved, so that another dialect can read them again."""
