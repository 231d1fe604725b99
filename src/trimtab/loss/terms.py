"""What the loss is made of besides logits and labels."""

import math
from typing import NamedTuple

from trimtab.arguments import real_number, whole_number


class TermsOfLoss(NamedTuple):
    """The numbers of `Terms`."""

    num_ids: int
    """Rows of the output matrix that are a vocabulary; those after them belong to no softmax."""
    label_smoothing: float = 0.0
    """Share of the probability spread over the vocabulary."""
    z_loss: float = 0.0
    """Weight of (log Z)²."""
    truncate_above: float = math.inf
    """Labels whose error norm is larger are left out of the objective; infinity leaves out none."""
    logit_cap: float = math.inf
    """Logits are squashed to `cap * tanh(logit / cap)`, as Gemma 2 does (arXiv 2408.00118, section 2); infinity leaves
    them as they are."""

    @property
    def truncates(self) -> bool:
        """Whether labels may be left out."""
        return self.truncate_above < math.inf

    @property
    def caps(self) -> bool:
        """Whether logits are squashed."""
        return self.logit_cap < math.inf


class Terms(TermsOfLoss):
    """Size of the vocabulary, the weights of smoothing and of the z-loss, and what is left out.

    Raises InputError for values that no loss has: smoothing of 1 or more, negative weights, no vocabulary.
    """

    __slots__ = ()

    def __new__(
        cls,
        num_ids: int,
        label_smoothing: float = 0.0,
        z_loss: float = 0.0,
        truncate_above: float = math.inf,
        logit_cap: float = math.inf,
    ) -> "Terms":
        """Checked, as one tuple."""
        return super().__new__(
            cls,
            whole_number(num_ids, name="Terms.num_ids", least=1, fix="pass the size of the vocabulary"),
            real_number(
                label_smoothing,
                name="Terms.label_smoothing",
                least=0.0,
                below=1.0,
                fix="0.1 is usual; 0 switches it off",
            ),
            real_number(
                z_loss, name="Terms.z_loss", least=0.0, below=math.inf, fix="1e-4 is usual; 0 switches it off"
            ),
            real_number(
                truncate_above,
                name="Terms.truncate_above",
                above=0.0,
                fix="pass an error norm between 0 and sqrt(2), or leave it out",
            ),
            real_number(
                logit_cap,
                name="Terms.logit_cap",
                above=0.0,
                fix="pass the final_logit_softcapping of the model's config.json, or leave it out",
            ),
        )
