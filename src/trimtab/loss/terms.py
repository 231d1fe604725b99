"""What the loss is made of besides logits and labels."""

from typing import NamedTuple


class Terms(NamedTuple):
    """Size of the vocabulary, and the weights of smoothing and of the z-loss."""

    num_ids: int
    """Rows of the output matrix that are a vocabulary; those after them belong to no softmax."""
    label_smoothing: float = 0.0
    """Share of the probability spread over the vocabulary."""
    z_loss: float = 0.0
    """Weight of (log Z)²."""
