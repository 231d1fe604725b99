"""Search options: beam size, length penalty, and the stopping rule."""

import math
from dataclasses import dataclass
from typing import Literal, get_args

from trimtab.decode.mbr import Mbr
from trimtab.decode.sampling import Sampling
from trimtab.errors import input_error

Stop = Literal["exact", "enough"]
MOST_CANDIDATES = 64
"""Hypotheses of a beam, or samples of a line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """Settings of a search; a beam of 1 is greedy."""

    beam: int = 4
    """Hypotheses followed for each source row."""
    length_penalty: float = 1.0
    """Exponent of the length by which scores are divided; 0 compares sums, 1 averages."""
    stop: Stop = "exact"
    """`exact` continues until no open hypothesis can beat the best finished one, which gives the same answer as
    continuing to the limit. `enough` stops as soon as `beam` hypotheses have finished, as CTranslate2 and fairseq do:
    faster, and the answer may be a shorter one."""
    no_repeat_ngram: int | None = None
    """No n-gram of so many symbols comes twice in a translation; None lets them. It hides a model that repeats itself
    and does not fix it: measure such a model without."""
    sampling: Sampling | None = None
    """Draws translations instead of searching for the likeliest; the beam counts for nothing then."""
    mbr: Mbr | None = None
    """Chooses among samples, or the best of the beam, the one that is most like all of them."""

    def __post_init__(self) -> None:
        if not 1 <= self.beam <= MOST_CANDIDATES:
            raise input_error(
                "beam: the number of hypotheses is out of range",
                got=str(self.beam),
                allowed=f"1 to {MOST_CANDIDATES}",
                fix="4 is usual; 1 is greedy and the fastest",
            )
        if not (math.isfinite(self.length_penalty) and self.length_penalty >= 0):
            raise input_error(
                "length_penalty: out of range",
                got=str(self.length_penalty),
                allowed="0 or more",
                fix="1.0 compares averages; 0 compares sums and prefers short translations",
            )
        if self.stop not in get_args(Stop):
            raise input_error(
                "stop: unknown",
                got=repr(self.stop),
                allowed=" or ".join(get_args(Stop)),
                fix="use one of these, or leave it out",
            )
        if self.no_repeat_ngram is not None and self.no_repeat_ngram < 1:
            raise input_error(
                "no_repeat_ngram: out of range",
                got=str(self.no_repeat_ngram),
                allowed="1 or more symbols",
                fix="3 or 4 is usual; leave it out to block nothing",
            )
        if self.mbr is not None and self.sampling is None and self.mbr.candidates > self.beam:
            raise input_error(
                "candidates: more than the beam has",
                got=f"{self.mbr.candidates} candidates of a beam of {self.beam}",
                allowed=f"2 to {self.beam}, or samples",
                fix="raise the beam to at least as many, or draw samples",
            )

    def candidates(self, n: int) -> int:
        """How many translations of each row are made where `n` are wanted."""
        return n if self.mbr is None else self.mbr.candidates

    def width(self, n: int) -> int:
        """Hypotheses followed for each row, of which `n` are wanted; InputError if there are not so many."""
        most = self.beam if self.sampling is None else MOST_CANDIDATES
        if self.mbr is not None and n > self.mbr.candidates:
            raise input_error(
                "n_best: more than there are candidates",
                got=str(n),
                allowed=f"1 to {self.mbr.candidates}, the candidates of MBR",
                fix="raise the number of candidates, or ask for fewer",
            )
        if not 1 <= n <= most:
            raise input_error(
                "n_best: the number of candidates is out of range",
                got=str(n),
                allowed=f"1 to {most}" + (", the beam" if self.sampling is None else " samples"),
                fix="raise the beam to at least as many" if self.sampling is None else "ask for fewer",
            )
        return self.beam if self.sampling is None else n
