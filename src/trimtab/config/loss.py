"""What is minimised."""

from typing import Literal

from pydantic import Field

from trimtab.config.settings import Settings


class CrossEntropyLoss(Settings):
    """Cross-entropy over the vocabulary, summed over targets and divided by the window's number of targets."""

    kind: Literal["cross_entropy"] = "cross_entropy"
    label_smoothing: float = Field(default=0.1, ge=0, lt=1)
    """Share of the probability spread over the vocabulary (Szegedy et al. 2015, arXiv 1512.00567, section 7)."""
    z_loss: float = Field(default=0.0, ge=0, le=1)
    """Weight of (log Z)², which keeps logits from drifting (PaLM, arXiv 2204.02311, section 5)."""


LossConfig = CrossEntropyLoss
