"""How to search for a translation: beam size, length penalty, and when a row has been searched enough."""

import math
from dataclasses import dataclass
from typing import Literal, get_args

from trimtab.errors import input_error

Stop = Literal["exact", "enough"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """Settings of a search; a beam of 1 is greedy."""

    beam: int = 4
    """Hypotheses followed for each source row."""
    length_penalty: float = 1.0
    """Exponent of the length by which scores are divided; 0 compares sums, 1 averages."""
    stop: Stop = "exact"
    """`exact` goes on until no open hypothesis can beat the best finished one, which gives the same answer as going on
    to the limit. `enough` stops as soon as `beam` hypotheses have finished, as CTranslate2 and fairseq do: faster,
    and the answer may be a shorter one."""

    def __post_init__(self) -> None:
        if not 1 <= self.beam <= 64:
            raise input_error(
                "beam: the number of hypotheses is out of range",
                got=str(self.beam),
                allowed="1 to 64",
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
            raise input_error("stop: not known", got=repr(self.stop), allowed=" or ".join(get_args(Stop)))
