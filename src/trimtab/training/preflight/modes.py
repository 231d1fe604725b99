"""Dropout: while training as the recipe says, and never while evaluating."""

from collections.abc import Iterator

import torch

from trimtab.finding import Finding
from trimtab.model.mixture_of_depths import routed_causally
from trimtab.run_findings.built_parts import DROPOUT_NOT_AS_SAID, EVALUATION_VARIES
from trimtab.step.stepper import statistics_of
from trimtab.tasks.examples import Checked
from trimtab.tasks.program import hidden, hidden_in_training
from trimtab.types import Batch

SAME = {"fp32": 1e-6, "tf32": 1e-3, "bf16_mixed": 1e-3, "fp16_mixed": 1e-3, "bf16": 1e-3}
"""By how much of its size a vector may differ between two passes over the same tokens."""


def dropout_where_it_belongs(parts: Checked) -> Iterator[Finding]:
    """Two passes in each mode: in evaluation they agree; in training they differ if there is dropout, and without it
    one agrees with evaluation."""
    pack, bound = parts.examples.few(), SAME[parts.precision]
    parts.model.eval()
    torch.manual_seed(1)
    first = hidden(parts, pack)
    torch.manual_seed(2)
    varies = difference(hidden(parts, pack), first)
    if not varies <= bound:
        yield EVALUATION_VARIES.found(
            f"two evaluations of the same tokens differ by {varies:.2g} of their size (bound {bound:g})"
        )
        return
    if (said := not_as_said(parts, pack, first, bound=bound)) is None:
        return
    yield DROPOUT_NOT_AS_SAID.found(said)


def not_as_said(parts: Checked, pack: Batch, evaluated: torch.Tensor, *, bound: float) -> str | None:
    """What is wrong with dropout in training. Compiled code rounds otherwise than the modules behind it, so what is
    compared with an evaluation comes from these."""
    dropout = parts.recipe.model.dropout
    step = parts.recipe.step
    others = {
        "noise is added to the embeddings": step.neftune_alpha,
        "positions are shifted": step.position_shift,
    }
    drawn = [what for what, value in others.items() if value is not None]
    if dropout or drawn:
        first, second = (hidden_in_training(parts, pack, seed=seed) for seed in (1, 2))
        if difference(second, first) > bound:
            return None
        what = f"dropout is {dropout:g}" if dropout else drawn[0]
        return f"{what}, and two passes in training with different seeds agree"
    model = parts.recipe.model
    if any(getattr(model, name, 0) for name in ("drop_path", "latent_noise")) or step.stochastic_depth:
        return None  # drawn so rarely, or by the images themselves, that two passes may agree
    if statistics_of(parts.model) is not None:
        return None  # live batch norm: a pass in training differs, as it should
    parts.model.train()
    with routed_causally(parts.model):
        off = difference(hidden(parts, pack), evaluated)
    if off <= bound:
        return None
    return f"dropout is 0, and a pass in training differs from one in evaluation by {off:.2g}"


def difference(one: torch.Tensor, other: torch.Tensor) -> float:
    """Of the size of the other."""
    return float((one - other).norm() / other.norm())
