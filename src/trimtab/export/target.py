"""What an export is for: one file a target behind one protocol."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

from trimtab.config.run import Recipe
from trimtab.data.tokenizers import Tokenizers
from trimtab.errors import Problem
from trimtab.flow import Ragged
from trimtab.translator import LoadedModel


@runtime_checkable
class Opened(Protocol):
    """An export as whoever uses the library gets it: its own tokenizer, its own search, its own text."""

    def encode(self, lines: Sequence[str], tags: Sequence[str]) -> list[list[int]]:
        """The ids that the model reads for each line behind the tags."""
        ...

    def log_probabilities(self, source: Ragged, target: Ragged) -> list[list[float]]:
        """The natural log-probability of each target token after its row of source ids."""
        ...

    def search(self, source: Ragged, *, beam: int, limits: Sequence[int]) -> list[list[int]]:
        """The best translation that the library's beam search finds for each row, without start and end symbol. None
        is longer than its limit, which counts the end symbol."""
        ...

    def decode(self, rows: Sequence[Sequence[int]]) -> list[str]:
        """The text of each row of target ids."""
        ...


@runtime_checkable
class Target(Protocol):
    """A library that models are exported for."""

    @property
    def name(self) -> str:
        """What `--to` calls it."""
        ...

    @property
    def weights(self) -> tuple[str, ...]:
        """The files that hold what was learned and how it is computed, the weights first; the card of the export has
        their fingerprints."""
        ...

    def check(self, recipe: Recipe, tokenizers: Tokenizers) -> list[Problem]:
        """Every key of the recipe that stands in the way, with what could be exported; raises InputError where the
        library is not installed."""
        ...

    def write(self, model: LoadedModel, folder: Path) -> None:
        """Writes weights, settings and tokenizer into an empty folder."""
        ...

    def open(self, folder: Path) -> Opened:
        """What was written, opened by the library itself."""
        ...

    def usage(self, folder: str, *, tags: Sequence[str] = ()) -> str:
        """Python that translates a line with the folder, the tags before it, for the model card."""
        ...

    def limits(self, model: LoadedModel) -> list[str]:
        """Where the library's text may differ from the trainer's, a sentence each, for the model card."""
        ...
