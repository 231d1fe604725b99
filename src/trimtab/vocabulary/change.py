"""What becomes of each id of a vocabulary, and the rows of a table of vectors after the change."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from trimtab.errors import input_error

Init = Literal["norm_matched", "mean"]
"""How the row of a new piece begins."""


@dataclass(frozen=True)
class VocabularyChange:
    """A new vocabulary in terms of the old one."""

    origins: tuple[int | tuple[int, ...], ...]
    """For each new id the old id whose row it keeps; for a new piece the old ids that spell it, none where the old
    vocabulary cannot spell it."""

    @classmethod
    def keeping(cls, kept: Sequence[int]) -> "VocabularyChange":
        """Only these old ids, in this order."""
        return cls(tuple(kept))

    @cached_property
    def new_ids(self) -> Mapping[int, int]:
        """The new id of each old id that is kept."""
        return {old: new for new, old in enumerate(self.origins) if isinstance(old, int)}

    @cached_property
    def kept(self) -> list[tuple[int, int]]:
        """Pairs of an old id and its new id."""
        return [*self.new_ids.items()]

    @cached_property
    def added(self) -> list[int]:
        """New ids of new pieces."""
        return [new for new, old in enumerate(self.origins) if not isinstance(old, int)]

    @property
    def unspelled(self) -> int:
        """New pieces that the old vocabulary cannot spell."""
        return sum(old == () for old in self.origins)

    def map(self, row: Sequence[int]) -> list[int] | None:
        """New ids of a row of old ids; None if one of them is dropped."""
        found = [self.new_ids.get(id) for id in row]
        return None if None in found else [id for id in found if id is not None]


def check_finite(tensor: Tensor, name: str, *, model: str) -> None:
    """InputError where a weight is NaN or infinite: logits could not be compared, nor means be taken."""
    if tensor.is_floating_point() and not tensor.isfinite().all():
        raise input_error(
            f"{model}: its weights are not finite",
            got=f"NaN or an infinite number in {name}",
            allowed="finite numbers",
            fix="name another checkpoint, or download the weights again",
        )


@torch.no_grad()
def changed_rows(
    table: Float[Tensor, "old_rows ..."], change: VocabularyChange, *, init: Init, known: int
) -> Float[Tensor, "new_rows ..."]:
    """A table of vectors, or of biases, with a row for each new id.

    The row of a new piece is the mean of the rows of the pieces that spell it (Gee et al. 2022, arXiv 2402.09977). With
    `norm_matched` it is made as long as these rows are on average, since a mean of nearly orthogonal vectors is shorter
    than they are; biases are means either way. A piece that nothing spells gets the mean of the first `known` rows,
    those that stand for pieces.
    """
    new = torch.empty((len(change.origins), *table.shape[1:]), dtype=table.dtype)
    pairs = torch.tensor(change.kept, dtype=torch.long).reshape(-1, 2)
    new[pairs[:, 1]] = table[pairs[:, 0]]
    whole = table[:known].float()
    for id in change.added:
        origin = change.origins[id]
        assert not isinstance(origin, int)
        rows = table[list(origin)].float() if origin else whole
        mean = rows.mean(0)
        if init == "norm_matched" and mean.dim():
            length = float(mean.square().sum().sqrt())
            wanted = float(rows.square().sum(-1).sqrt().mean())
            mean = mean * (wanted / length if length else 1.0)
        new[id] = mean.to(table.dtype)
    return new
