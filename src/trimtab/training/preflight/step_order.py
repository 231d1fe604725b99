"""Checks the order of a step: gradients start at zero and are clipped before the update."""

from collections.abc import Iterator, Sequence

import torch
from jaxtyping import Bool
from torch import Tensor

from trimtab.config.step import Clip as ClipConfig
from trimtab.config.step import ClipAdaptive, ClipComponent, ClipGlobalNorm, ClipOff
from trimtab.finding import Finding
from trimtab.run_findings.preflight import CLIPPED_TOO_LATE, GRADIENTS_LEFT_OVER
from trimtab.step.clip.build import build_clip
from trimtab.tasks.examples import Checked
from trimtab.training.preflight.one_step import one_step

TWICE = 1.5
"""Gradients that were kept make the second of two equal steps twice as large."""
CLIP_TO = 0.01
"""Of the norm that the gradient has."""


class Witness:
    """An optimizer that moves nothing and remembers the norm of each gradient that it is given."""

    def __init__(self, parameters: Sequence[Tensor]) -> None:
        self.parameters = parameters
        self.norms: list[float] = []

    def update(self, *, learning_rate: float | Tensor, skip: Bool[Tensor, ""]) -> None:
        """Looks, and leaves everything as it is."""
        gradients = [each.grad for each in self.parameters if each.grad is not None]
        self.norms.append(float(torch.nn.utils.get_total_norm(gradients)) if gradients else 0.0)

    def state_tensors(self) -> dict[str, Tensor]:
        """It has none."""
        return {}

    def load_state_tensors(self, saved: dict[str, Tensor]) -> None:
        """There is nothing to continue from."""


def steps_in_order(parts: Checked) -> Iterator[Finding]:
    """Two equal steps, and one that is clipped to a hundredth, all of which move nothing."""
    pack = parts.examples.few()
    witness = Witness(parts.stepper.optimizer.parameters)
    for _ in range(2):
        one_step(parts, witness, [pack], clip=build_clip(ClipOff()), rate=1.0)
    first, second = witness.norms[-2:]
    if not second <= TWICE * first:
        yield GRADIENTS_LEFT_OVER.found(
            f"the same step has a gradient of norm {first:.3g} the first time and {second:.3g} the second"
        )
        return
    tight, asked = tight_clip(parts.recipe.step.clip, at=CLIP_TO * first)
    if asked is None:
        return
    one_step(parts, witness, [pack], clip=build_clip(tight), rate=1.0)
    if not witness.norms[-1] <= asked * 1.01:
        yield CLIPPED_TOO_LATE.found(
            f"clipped to {asked:.3g}, the update is made from a gradient of norm {witness.norms[-1]:.3g}"
        )


def tight_clip(config: ClipConfig, *, at: float) -> tuple[ClipConfig, float | None]:
    """The run's kind of clip with a bound that is surely passed, and the bound; None if nothing is clipped."""
    match config:
        case ClipOff():
            return config, None
        case ClipAdaptive():
            return config.model_copy(update={"first": at}), at
        case ClipComponent():
            return ClipGlobalNorm(at=at), at  # the whole gradient may be longer than the bound of a component
        case _:
            return config.model_copy(update={"at": at}), at
