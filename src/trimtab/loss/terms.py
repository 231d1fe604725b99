"""What the loss is made of besides logits and labels."""

import math
from typing import NamedTuple


class Terms(NamedTuple):
    """Size of the vocabulary, the weights of smoothing and of the z-loss, and what is left out."""

    num_ids: int
    """Rows of the output matrix that are a vocabulary; those after them belong to no softmax."""
    label_smoothing: float = 0.0
    """Share of the probability spread over the vocabulary."""
    z_loss: float = 0.0
    """Weight of (log Z)²."""
    truncate_above: float = math.inf
    """Labels whose error norm is larger are left out of the objective; infinity leaves out none."""

    @property
    def truncates(self) -> bool:
        """Whether labels may be left out."""
        return self.truncate_above < math.inf
