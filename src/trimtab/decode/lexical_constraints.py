"""Terms that translations must have: which are met, how far the others are begun, and how many tokens are missing."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Int
from torch import Tensor

_NOTHING = -1
"""Stands where there is no token, and equals none."""


@dataclass(frozen=True, slots=True)
class Spelling:
    """One way to write a term in ids of the target vocabulary."""

    ids: tuple[int, ...]
    """At least one."""
    proposed: bool = True
    """Whether the search puts it into hypotheses. One that it does not, such as the term without the space before it,
    counts where the model writes it by itself after something that may precede a word."""


Term = tuple[Spelling, ...]
"""A constraint: any one of these spellings meets it. At least one of them is proposed."""


def tokens_needed(terms: Sequence[Term]) -> int:
    """How many tokens it takes to write all of these terms, each in its shortest proposed spelling."""
    return sum(min(len(each.ids) for each in term if each.proposed) for term in terms)


@dataclass(frozen=True, slots=True)
class TermTables:
    """The spellings of the terms of each of some rows, as tensors.

    Filled up with spellings of no token, which belong to a term of their own that is met from the beginning.
    """

    ids: Int[Tensor, "rows spellings length"]
    lengths: Int[Tensor, "rows spellings"]
    terms: Int[Tensor, "rows spellings"]
    """The number of the term that each spelling belongs to."""
    proposed: Bool[Tensor, "rows spellings"]
    shortest: Int[Tensor, "rows terms"]
    """Tokens of the shortest proposed spelling; 0 where a row has fewer terms."""
    opens_word: Bool[Tensor, "vocabulary"]
    """Whether a word may begin right behind a token, as behind a bracket."""
    most_missing: int
    """Tokens that the terms of a row need, at most."""

    @classmethod
    def of(cls, terms: Sequence[Sequence[Term]], *, opens_word: Bool[Tensor, "vocabulary"]) -> "TermTables":
        """The tables of a batch, on the device of `opens_word`."""
        device = opens_word.device
        flat = [[(number, each) for number, term in enumerate(row) for each in term] for row in terms]
        num_terms = 1 + max(map(len, terms), default=0)
        most = max(1, *map(len, flat))
        spare = (num_terms - 1, Spelling((), proposed=False))
        filled = [[*row, *[spare] * (most - len(row))] for row in flat]
        longest = max(1, *(len(each.ids) for row in filled for _, each in row))
        ids = [[[*each.ids, *[_NOTHING] * (longest - len(each.ids))] for _, each in row] for row in filled]
        shortest = [[*map(_shortest, row), *[0] * (num_terms - len(row))] for row in terms]
        return cls(
            ids=torch.tensor(ids, device=device),
            lengths=torch.tensor([[len(each.ids) for _, each in row] for row in filled], device=device),
            terms=torch.tensor([[number for number, _ in row] for row in filled], device=device),
            proposed=torch.tensor([[each.proposed for _, each in row] for row in filled], device=device),
            shortest=torch.tensor(shortest, device=device),
            opens_word=opens_word,
            most_missing=max(map(tokens_needed, terms)),
        )

    @property
    def longest(self) -> int:
        """Tokens of the longest spelling."""
        return self.ids.shape[2]

    def kept(self, index: Int[Tensor, "kept"]) -> "TermTables":
        """The tables of these rows only."""
        names = ("ids", "lengths", "terms", "proposed", "shortest")
        return replace(self, **{name: getattr(self, name)[index] for name in names})

    def progress(self, tail: Int[Tensor, "rows hypotheses tail"]) -> Int[Tensor, "rows hypotheses spellings"]:
        """How many tokens of each spelling a hypothesis ends with: the longest of its beginnings that are there.

        `tail` are the last `longest` + 1 tokens of each hypothesis, the start symbol before them. A spelling that is
        not proposed has only 0 and its whole length, which it has behind a token after which a word may begin.
        """
        found = tail.new_zeros(*tail.shape[:2], self.ids.shape[1])
        for length in range(1, self.longest + 1):
            same = (tail[..., None, -length:] == self.ids[:, None, :, :length]).all(-1)
            whole = self.lengths == length
            begins_word = self.opens_word[tail[..., -length - 1]][..., None]
            fits = self.proposed[:, None] | (whole[:, None] & begins_word)
            found = torch.where(same & fits, length, found)
        return found

    def met_with(
        self, met: Bool[Tensor, "rows hypotheses terms"], progress: Int[Tensor, "rows hypotheses spellings"]
    ) -> Bool[Tensor, "rows hypotheses terms"]:
        """Which terms are met, now that the last token is there."""
        complete = (progress == self.lengths[:, None]).to(torch.int32)
        index = self.terms[:, None].expand_as(progress)
        return met | (torch.zeros_like(met, dtype=torch.int32).scatter_add(2, index, complete) > 0)

    def missing(
        self, met: Bool[Tensor, "rows hypotheses terms"], progress: Int[Tensor, "rows hypotheses spellings"]
    ) -> Int[Tensor, "rows hypotheses"]:
        """How many tokens suffice to meet the rest: one term is finished that is begun, the others follow it."""
        open_terms = ~met
        total = (self.shortest[:, None] * open_terms).sum(-1)
        shortest = self.shortest.gather(1, self.terms)
        saved = shortest[:, None] - (self.lengths[:, None] - progress)
        counts = self.wanted(met) & (progress > 0)
        return total - saved.where(counts, 0).clamp(min=0).amax(-1)

    def wanted(self, met: Bool[Tensor, "rows hypotheses terms"]) -> Bool[Tensor, "rows hypotheses spellings"]:
        """The spellings that the search may propose to each hypothesis."""
        index = self.terms[:, None].expand(-1, met.shape[1], -1)
        return ~met.gather(2, index) & self.proposed[:, None]

    def following(
        self, progress: Int[Tensor, "rows hypotheses spellings"]
    ) -> Int[Tensor, "rows hypotheses spellings"]:
        """The next token of each spelling behind what is written of it; of no meaning where it is whole."""
        place = progress.clamp(max=self.longest - 1)[..., None]
        ids = self.ids[:, None].expand(-1, progress.shape[1], -1, -1)
        return ids.gather(3, place)[..., 0].clamp(min=0)


def _shortest(term: Term) -> int:
    return tokens_needed([term])
