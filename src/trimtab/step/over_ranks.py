"""One step that several ranks take together: what each of them found is summed before anything is judged."""

from collections.abc import Sequence

import torch
from torch import Tensor

from trimtab.distributed import Ranks, SumsByComponent
from trimtab.errors import input_error
from trimtab.step.clip.gradients import is_sharded
from trimtab.types import LossOutput


@torch.no_grad()
def summed(total: LossOutput, parameters: Sequence[Tensor], ranks: Ranks) -> LossOutput:
    """The loss of the whole step, and on every parameter its whole gradient.

    Each rank has divided by the targets of all ranks, so sums are means. Everything is equal to the last bit on every
    rank, and so is what follows from it: the norm, the verdict, and what clip, gate and loss scale remember. A gradient
    that a rank has none of counts as zero there, as on a rank without a micro-batch. Those of `fully_shard` were summed
    by it, each part on the rank that holds it; those of `SumsByComponent` are summed over the holders of a component.
    """
    refuse_rounding_by_chance(parameters)
    for parameter in parameters:
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    truncated = torch.zeros_like(total.loss) if total.truncated is None else total.truncated
    numbers = torch.stack([each.detach().double() for each in (total.objective, total.loss, truncated)])
    if isinstance(ranks, SumsByComponent):
        numbers = torch.cat([numbers, ranks.sum_gradients()])
        ranks.sum_tensors([numbers])
        numbers, ranks.squares = numbers[:3], numbers[3:]
    else:
        ranks.sum_tensors([each for each in gradients if not is_sharded(each)])
        ranks.sum_tensors([numbers])
    # In one precision on every rank; one without a micro-batch does not know that of the loss.
    precision = torch.promote_types(parameters[0].dtype, torch.float32)
    return LossOutput(*numbers.to(precision).unbind())


def refuse_rounding_by_chance(parameters: Sequence[Tensor]) -> None:
    """Raises InputError for weights that each rank would round in another way, so that no two would have the same."""
    if any(parameter.dtype == torch.bfloat16 for parameter in parameters):
        raise input_error(
            "step.precision: weights in bfloat16 are rounded with random numbers that differ by rank",
            got="bf16 on more than one rank",
            allowed="bf16_mixed, fp16_mixed, tf32 or fp32",
            fix="set `step.precision: bf16_mixed`",
        )
