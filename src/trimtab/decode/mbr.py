"""Minimum Bayes risk decoding: of several translations the one that is most like all of them.

Source: Eikema and Aziz 2022, arXiv 2108.04718, sampling-based MBR with the candidates as the references too; Kumar and
Byrne 2004, N04-1022.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import get_args

import numpy as np

from trimtab.decode.candidate import Candidate
from trimtab.decode.utilities import Utility, utilities
from trimtab.errors import input_error

MOST_CANDIDATES = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Mbr:
    """How the translation of a line is chosen among its candidates."""

    utility: Utility = "chrf"
    """How good a candidate would be if another one were the right translation."""
    candidates: int = 32
    """How many are drawn, or taken from the beam; more are better and slower."""

    def __post_init__(self) -> None:
        if self.utility not in get_args(Utility):
            raise input_error("mbr: unknown", got=repr(self.utility), allowed=" or ".join(get_args(Utility)))
        if not 2 <= self.candidates <= MOST_CANDIDATES:
            raise input_error(
                "candidates: out of range",
                got=str(self.candidates),
                allowed=f"2 to {MOST_CANDIDATES}",
                fix="32 is usual",
            )


def most_useful(candidates: Sequence[Candidate], mbr: Mbr) -> list[Candidate]:
    """The different candidates by their expected utility, which becomes their score, best first.

    Each candidate counts as a reference as often as it occurs: samples that come twice are twice as likely. Of equally
    useful ones the likelier comes first.
    """
    times = Counter(each.text for each in candidates)
    first = {each.text: each for each in reversed(candidates)}
    texts = list(times)
    weights = np.array([times[text] for text in texts]) / len(candidates)
    expected = utilities(texts, mbr.utility) @ weights
    scored = [replace(first[text], score=float(value)) for text, value in zip(texts, expected, strict=True)]
    return sorted(scored, key=lambda each: (-each.score, -each.log_probability))
