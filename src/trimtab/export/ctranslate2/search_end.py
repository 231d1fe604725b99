"""When a search has seen enough to know the best translations of a row."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Written:
    """A translation in pieces, without the end symbol."""

    pieces: list[str]
    score: float
    """Summed natural log-probability, that of the end symbol included."""
    is_whole: bool = True
    """Whether the score is that of the model for the whole translation; otherwise it is still to be had."""

    def without_its_last(self) -> "Written":
        """What it was a step before."""
        return Written(self.pieces[:-1], self.score, is_whole=False)


@dataclass(frozen=True, slots=True)
class Seen:
    """What a search of a number of steps gave for a row."""

    ended: list[Written]
    still_open: list[Written]
    lowest: float
    """The lowest score among what the last step gave, ended or open; what it did not tell is lower still."""

    @property
    def bound(self) -> float:
        """No open hypothesis has a higher score."""
        return max((each.score for each in self.still_open), default=self.lowest)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is searched for: the best `n` by beam search, or by greedy search for a beam of 1."""

    beam: int
    n: int
    length_penalty: float
    exact: bool
    """A row is searched until no open hypothesis can beat the last of the `n`, otherwise until `beam` have ended."""

    def normalised(self, each: Written) -> float:
        """The score by which translations are compared, the end symbol counted."""
        return each.score / (len(each.pieces) + 1) ** self.length_penalty

    def best(self, each: Sequence[Written]) -> list[Written]:
        """The best `n`, the best first."""
        return sorted(each, key=self.normalised, reverse=True)[: self.n]

    def finished(self, seen: Seen, *, capacity: int) -> list[Written]:
        """The best `n` of a row that has room for so many pieces; empty if more steps may change them."""
        if self.beam == 1:
            return self.best(seen.ended)
        if not self.exact:
            return self._first(seen.ended)
        best = self.best(seen.ended)
        # A score is a sum of logarithms, at most 0 each, so it never rises; the limit is the most it is divided by.
        bound = seen.bound / (capacity + 1) ** self.length_penalty
        return best if len(best) == self.n and self.normalised(best[-1]) >= bound else []

    def at_the_limit(self, ended: list[Written], still_open: list[Written]) -> list[Written]:
        """What may be among the best `n` of a row whose room is full: what is open can only end."""
        if not self.exact and (first := self._first(ended)):
            return first
        unlike = {tuple(each.pieces): each for each in still_open}
        for each in ended:
            unlike.pop(tuple(each.pieces), None)
        return [*self.best(ended), *unlike.values()]

    def _first(self, ended: list[Written]) -> list[Written]:
        """The best `n` of what had ended when `beam` had; empty if fewer have."""
        lengths = sorted(len(each.pieces) for each in ended)
        if len(lengths) < self.beam:
            return []
        return self.best([each for each in ended if len(each.pieces) <= lengths[self.beam - 1]])
