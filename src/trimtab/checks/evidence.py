"""Why a rule may be believed, in grades: measured here, then papers, what maintainers say, arithmetic, and folklore."""

from trimtab.checks.record import record


@record
class Measured:
    """An experiment of this project, kept with its command in `experiments/`."""

    experiment: str
    """Name of its folder's file: `accumulation_bias`."""
    text: str


@record
class Paper:
    """A paper that was opened; `text` is what it says, with its number."""

    url: str
    text: str
    opened: bool = True
    """False where it is cited from memory: then a rule that has nothing better is a note."""


@record
class Maintainer:
    """A tool's own documentation, source, issue or pull request that was opened."""

    url: str
    text: str
    opened: bool = True


@record
class Arithmetic:
    """A derivation that anybody can follow, written out."""

    text: str


@record
class Folklore:
    """What practitioners say; only ever a note."""

    text: str


Evidence = Measured | Paper | Maintainer | Arithmetic | Folklore
