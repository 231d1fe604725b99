"""Training data as OpenNMT-py, Eole and Mammoth list them: corpora under `data`, tasks under `tasks`."""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from trimtab.checks.description import Description
from trimtab.checks.record import record
from trimtab.checks.setting import Setting

_ROOTS = {"opennmt": "data", "eole": "data", "mammoth": "tasks"}


@record(kw_only=True)
class Corpus:
    """One entry of the list."""

    name: str
    key: str
    """`data.corpus_1`"""
    options: Mapping[str, Any]
    transforms: tuple[str, ...]
    """Its own, or the file's default; in the order of the file."""

    @property
    def is_validation(self) -> bool:
        """OpenNMT-py and Eole reserve a name for the validation set."""
        return self.name == "valid" and self.key.startswith("data.")


def corpora_of(run: Description) -> Iterator[Corpus]:
    """Every corpus or task that a file of these tools lists; none for other tools."""
    root = _ROOTS.get(run.tool, "")
    tree = _mapping(run.document.tree)
    default = _names(tree.get("transforms"))
    for name, value in _mapping(tree.get(root)).items() if root else ():
        options = _mapping(value)
        if not isinstance(name, str) or not options:
            continue
        own = _names(options.get("transforms")) if options.get("transforms") is not None else default
        yield Corpus(name=name, key=f"{root}.{name}", options=options, transforms=own)


def setting_of(run: Description, corpus: Corpus, option: str) -> Setting | None:
    """An option of a corpus with its place."""
    return run.written(f"{corpus.key}.{option}")


def _mapping(value: Any) -> Mapping[Any, Any]:
    return cast(Mapping[Any, Any], value) if isinstance(value, Mapping) else {}


def _names(value: Any) -> tuple[str, ...]:
    """A list of names; text with commas or blanks is split as the tools' option parsers do."""
    if isinstance(value, str):
        return tuple(value.strip("[]").replace(",", " ").split())
    return tuple(str(name) for name in cast(list[Any], value)) if isinstance(value, list | tuple) else ()
