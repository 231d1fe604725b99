"""The examples that one step consumes, as rows of ids."""

from dataclasses import dataclass, fields
from typing import TypeVar

import numpy as np

from trimtab.types import DroppedExample, Ragged

Own = TypeVar("Own", bound="TextGlobalBatch")


@dataclass(frozen=True, slots=True)
class TextGlobalBatch:
    """The `types.GlobalBatch` of tasks on text."""

    source: Ragged
    """Source ids, end symbol included."""
    target: Ragged
    """Target ids, end symbol included."""
    corpus: np.ndarray
    line: np.ndarray
    position: int
    dropped: tuple[DroppedExample, ...] = ()
    prompt: np.ndarray | None = None
    """For each example, how many leading target tokens the model is given and do not count, int32; None for none."""
    links: Ragged | None = None
    """For each example its aligned tokens, target and source in turn; None where no alignments are learned."""

    @classmethod
    def of(cls: type[Own], window: "TextGlobalBatch") -> Own:
        """The same examples, counted as this class counts."""
        return cls(**{each.name: getattr(window, each.name) for each in fields(TextGlobalBatch)})

    @classmethod
    def of_rows(cls: type[Own], source: Ragged, target: Ragged) -> Own:
        """These rows as a step of corpus 0."""
        zeros = np.zeros(len(source), np.int64)
        return cls(source, target, zeros.astype(np.int32), zeros, 0)

    @property
    def num_targets(self) -> int:
        """Target tokens that count in the loss, of the whole step."""
        return int(self.target.offsets[-1]) - (0 if self.prompt is None else int(self.prompt.sum()))

    @property
    def num_tokens(self) -> int:
        """Real source and target tokens."""
        return int(self.source.offsets[-1] + self.target.offsets[-1])
