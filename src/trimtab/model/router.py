"""What routers have in common, whatever they choose: a loss of their own, and which tokens it counts."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from trimtab.types import IGNORE, PackedBatch


class Router(nn.Module):
    """A module that chooses for each token what computes it, and adds a loss to the objective in training."""

    def __init__(self) -> None:
        super().__init__()
        self.auxiliary: Float[Tensor, ""] | None = None
        """The auxiliary loss per target of the last training pass; None in evaluation."""
        self.counted: Bool[Tensor, "tokens"] | None = None
        """Which of the next pass's tokens the auxiliary loss and the load count; None for all. See `count_real`."""
        self.load: Tensor | None = None
        """How the tokens were distributed in the last pass in evaluation."""

    def __getstate__(self) -> dict[str, object]:
        """Without what the last pass left behind, so that a model can be copied between its passes."""
        return {**self.__dict__, "auxiliary": None, "load": None, "counted": None}

    def real(self, scores: Float[Tensor, "tokens *outputs"]) -> Float[Tensor, "tokens"]:
        """1 for the tokens that count, 0 for those that fill a pack up."""
        if self.counted is None or len(self.counted) != len(scores):
            return scores.new_ones(len(scores))
        return self.counted.to(scores.dtype)


def count_real(model: nn.Module, pack: PackedBatch) -> None:
    """Marks the tokens of the next pass that belong to segments in which a label counts, for the auxiliary loss of the
    routers: what fills a pack up is no text. It is computed on the device, since recorded steps repeat what the host
    has decided; with registers before a source all of its tokens count."""
    counts = torch.zeros(len(pack.target.cu_seqlens) - 1, dtype=torch.long, device=pack.labels.device)
    counts = counts.index_add(0, pack.target.segments.long(), (pack.labels != IGNORE).long())
    for name, module in model.named_modules():
        if isinstance(module, Router):
            stream = pack.source if name.startswith("encoder.") else pack.target
            module.counted = (counts > 0)[stream.segments.long()]


def router_losses(model: nn.Module) -> Float[Tensor, ""] | None:
    """What the routers of all layers add to the objective for each target; None without routers, and in evaluation."""
    found = [
        module.auxiliary
        for module in model.modules()
        if isinstance(module, Router) and module.auxiliary is not None
    ]
    return torch.stack(found).sum() if found else None
