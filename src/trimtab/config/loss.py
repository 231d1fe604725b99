"""What is minimised."""

from typing import Literal

from pydantic import Field

from trimtab.config.settings import Settings
from trimtab.units import Duration


class Truncate(Settings):
    """Leaves out of the objective the tokens that look like mistakes of the data: those whose error norm
    ||p - onehot(label)||, with p the model's distribution, is large (error norm truncation, arXiv 2310.00840).

    The norm lies between 0 and sqrt 2. It is sqrt(1 + q^2) where the model gives nothing to the label and q to one
    other token, and near 1 where it is merely unsure. Tokens left out are still counted as targets of the step.
    """

    error_norm: float = Field(default=1.2, gt=0, lt=1.4143)
    """Tokens above this are left out: 1.2 is a label without probability while another token has two thirds."""
    after: Duration = Duration(1000, "steps")
    """From when on: a model that knows nothing yet cannot tell mistakes from news."""


class CrossEntropyLoss(Settings):
    """Cross-entropy over the vocabulary, summed over targets and divided by the window's number of targets."""

    kind: Literal["cross_entropy"] = "cross_entropy"
    label_smoothing: float = Field(default=0.1, ge=0, lt=1)
    """Share of the probability spread over the vocabulary (Szegedy et al. 2015, arXiv 1512.00567, section 7)."""
    z_loss: float = Field(default=0.0, ge=0, le=1)
    """Weight of (log Z)², which keeps logits from drifting (PaLM, arXiv 2204.02311, section 5)."""
    truncate: Truncate | None = None
    """Which tokens are left out, for noisy data; by default none."""


LossConfig = CrossEntropyLoss
