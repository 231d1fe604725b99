"""The distance between the hidden vectors of a model and those of a trained one, its teacher."""

from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from trimtab.types import IGNORE


def feature_distance(
    hidden: Float[Tensor, "targets dim"],
    wanted: Float[Tensor, "targets dim"],
    labels: Int[Tensor, "targets"],
    *,
    distance: Literal["cosine", "mse"],
) -> Float[Tensor, ""]:
    """Summed over the targets that count, in float32: 1 minus the cosine of the angle (DistilBERT, Sanh et al. 2019,
    arXiv 1910.01108, section 2), or the mean square of the difference (FitNets, Romero et al. 2015, arXiv 1412.6550,
    equation 3)."""
    hidden, wanted = hidden.float(), wanted.float()
    apart = (
        1 - F.cosine_similarity(hidden, wanted, dim=-1)
        if distance == "cosine"
        else (hidden - wanted).square().mean(-1)
    )
    return torch.where(labels != IGNORE, apart, 0.0).sum()


def projection(of: int, to: int, *, seed: int) -> Float[Tensor, "to of"]:
    """A fixed map between vectors of two widths that keeps angles as far as it can: random orthonormal rows, or columns
    where it is to a wider space (Johnson and Lindenstrauss 1984)."""
    generator = torch.Generator().manual_seed(seed)
    wide, narrow = max(of, to), min(of, to)
    orthogonal, _ = torch.linalg.qr(torch.randn(wide, narrow, generator=generator))
    return (
        orthogonal if to == wide else orthogonal.T * (wide / narrow) ** 0.5
    )  # so that lengths stay, on average
