"""Why a rule may be believed, in grades: measured here, then papers, what maintainers say, arithmetic, and folklore."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Measured:
    """An experiment of this project, kept with its command in `experiments/`."""

    experiment: str
    """Name of its folder's file: `accumulation_bias`."""
    text: str


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper that was opened; `text` is what it says, with its number."""

    url: str
    text: str
    opened: bool = True
    """False where it is cited from memory: then a rule that has nothing better is a note."""


@dataclass(frozen=True, slots=True)
class Maintainer:
    """A tool's own documentation, source, issue or pull request that was opened."""

    url: str
    text: str
    opened: bool = True


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """A derivation that anybody can follow, written out."""

    text: str


@dataclass(frozen=True, slots=True)
class Folklore:
    """What practitioners say; only ever a note."""

    text: str


Evidence = Measured | Paper | Maintainer | Arithmetic | Folklore
