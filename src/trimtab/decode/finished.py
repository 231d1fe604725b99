"""The hypotheses of a beam search that have ended: the best one of each row, or the best few."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from trimtab.decode.hypothesis import Hypothesis
from trimtab.decode.next_scores import OUT_OF_REACH

Found = TypeVar("Found", covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """What ended with one step, all of it of one length."""

    scores: Float[Tensor, "rows beam"]
    """Minus infinity for what did not end."""
    parents: Int[Tensor, "rows candidates"]
    """Which open hypothesis each of them continues from."""
    ids: Int[Tensor, "rows beam length"]
    """Of the open hypotheses."""
    num_ids: int
    """How many of these count: the length without the end symbol."""
    length_penalty: float


@runtime_checkable
class Finished(Protocol[Found]):
    """Keeps of what ended the best by normalised score."""

    def add(self, ended: Ended, *, done: Bool[Tensor, "rows"]) -> None:
        """Takes what ended; rows that are done stay as they are."""
        ...

    @property
    def to_beat(self) -> Float[Tensor, "rows"]:
        """A normalised score that an open hypothesis must exceed to matter."""
        ...

    def keep(self, index: Int[Tensor, "kept"]) -> None:
        """Goes on with these rows only."""
        ...

    def found(self, rows: Sequence[int]) -> list[Found]:
        """What was kept of each of these rows."""
        ...


@dataclass(slots=True)
class BestFinished:
    """The best of each row."""

    ids: Int[Tensor, "rows length"]
    length: Int[Tensor, "rows"]
    """Number of ids, end symbol not counted."""
    score: Float[Tensor, "rows"]
    normalised: Float[Tensor, "rows"]

    @classmethod
    def begin(cls, rows: int, length: int, *, end: int, device: torch.device) -> "BestFinished":
        """None yet."""
        return cls(
            ids=torch.full((rows, length), end, device=device),
            length=torch.zeros(rows, dtype=torch.long, device=device),
            score=torch.full((rows,), OUT_OF_REACH, device=device),
            normalised=torch.full((rows,), OUT_OF_REACH, device=device),
        )

    @property
    def to_beat(self) -> Float[Tensor, "rows"]:
        """The normalised score of the best."""
        return self.normalised

    def add(self, ended: Ended, *, done: Bool[Tensor, "rows"]) -> None:
        """All that ended have the same length, so the best score is the best normalised."""
        score, place = ended.scores.max(1)
        normalised = score / (ended.num_ids + 1) ** ended.length_penalty
        better = (normalised > self.normalised) & ~done
        parent = ended.parents.gather(1, place[:, None])
        ids = ended.ids.gather(1, parent[..., None].expand(-1, -1, ended.ids.shape[-1]))[:, 0]
        self.ids = torch.where(better[:, None], ids, self.ids)
        self.length = self.length.masked_fill(better, ended.num_ids)
        self.score = torch.where(better, score, self.score)
        self.normalised = torch.where(better, normalised, self.normalised)

    def keep(self, index: Int[Tensor, "kept"]) -> None:
        """Goes on with these rows only."""
        for name in ("ids", "length", "score", "normalised"):
            setattr(self, name, getattr(self, name)[index])

    def found(self, rows: Sequence[int]) -> list[Hypothesis]:
        """The best of each of these rows."""
        index = torch.tensor(rows, device=self.score.device, dtype=torch.long)
        columns = (self.ids, self.length, self.score, self.normalised)
        found = zip(*(column[index].tolist() for column in columns), strict=True)
        return [
            Hypothesis(ids=ids[:length], score=score, normalised=normalised)
            for ids, length, score, normalised in found
        ]


@dataclass(slots=True)
class FewFinished:
    """The best few of each row, the best first; minus infinity where there are fewer."""

    ids: Int[Tensor, "rows few length"]
    length: Int[Tensor, "rows few"]
    score: Float[Tensor, "rows few"]
    normalised: Float[Tensor, "rows few"]

    @classmethod
    def begin(cls, rows: int, length: int, *, few: int, end: int, device: torch.device) -> "FewFinished":
        """None yet."""
        return cls(
            ids=torch.full((rows, few, length), end, device=device),
            length=torch.zeros((rows, few), dtype=torch.long, device=device),
            score=torch.full((rows, few), OUT_OF_REACH, device=device),
            normalised=torch.full((rows, few), OUT_OF_REACH, device=device),
        )

    @property
    def to_beat(self) -> Float[Tensor, "rows"]:
        """The normalised score of the last of the few."""
        return self.normalised[:, -1]

    def add(self, ended: Ended, *, done: Bool[Tensor, "rows"]) -> None:
        """Old and new together, and of these the best few."""
        few, longest = self.normalised.shape[1], self.ids.shape[2]
        num_new = ended.scores.shape[1]
        scores = ended.scores.masked_fill(done[:, None], OUT_OF_REACH)
        new_length = torch.full_like(scores, ended.num_ids, dtype=torch.long)
        normalised = scores / (ended.num_ids + 1) ** ended.length_penalty
        parents = ended.parents[:, :num_new, None].expand(-1, -1, longest)
        self.normalised, chosen = torch.cat([self.normalised, normalised], 1).topk(few)
        self.score = torch.cat([self.score, scores], 1).gather(1, chosen)
        self.length = torch.cat([self.length, new_length], 1).gather(1, chosen)
        ids = torch.cat([self.ids, ended.ids.gather(1, parents)], 1)
        self.ids = ids.gather(1, chosen[..., None].expand(-1, -1, longest))

    def keep(self, index: Int[Tensor, "kept"]) -> None:
        """Goes on with these rows only."""
        for name in ("ids", "length", "score", "normalised"):
            setattr(self, name, getattr(self, name)[index])

    def found(self, rows: Sequence[int]) -> list[list[Hypothesis]]:
        """Those of each of these rows that have a probability; an empty one where none has."""
        index = torch.tensor(rows, device=self.score.device, dtype=torch.long)
        columns = (self.ids, self.length, self.score, self.normalised)
        lists = []
        for row in zip(*(column[index].tolist() for column in columns), strict=True):
            few = [
                Hypothesis(ids=ids[:length], score=score, normalised=normalised)
                for ids, length, score, normalised in zip(*row, strict=True)
                if score > OUT_OF_REACH
            ]
            lists.append(few or [Hypothesis(ids=[], score=OUT_OF_REACH, normalised=OUT_OF_REACH)])
        return lists
