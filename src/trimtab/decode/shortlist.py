"""Shortlists: which target ids the source tokens of a batch are likely to need."""

from dataclasses import dataclass

import numpy as np

from trimtab.types import Ragged


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortlist:
    """Which target ids a source needs."""

    always: np.ndarray
    """Ids that every batch has: the most frequent ones."""
    of_source: Ragged
    """For each source id, the target ids that it is likely to be translated by."""
    num_ids: int
    """Size of the target's vocabulary."""
    copies: bool
    """Whether both sides share the vocabulary, so that pieces of the source may be copied."""

    def ids(self, sources: np.ndarray) -> np.ndarray:
        """The target ids for a batch with these source ids, int64, rising, each once."""
        chosen = np.zeros(self.num_ids, bool)
        chosen[self.always] = True
        used = np.unique(sources % len(self.of_source))  # an id may have source factors in it
        chosen[self.of_source.take(used).values] = True
        if self.copies:
            chosen[used] = True
        return np.flatnonzero(chosen)
