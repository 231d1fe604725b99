"""The input of cross-attention from all encoder layers: a sum with learned weights for each decoder layer.

Source: Bapna et al. 2018, "Training deeper neural machine translation models with transparent attention", arXiv
1808.07561, section 3.1. Liu et al. 2021, arXiv 2012.14768, look at which layers such decoders come to read.
"""

from collections.abc import Sequence
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn


class EncoderMix(nn.Module):
    """The weights of one decoder layer: for the embeddings of the source and the output of each encoder layer."""

    def __init__(self, *, layers: int, kind: Literal["softmax", "linear"]) -> None:
        """`layers` of the encoder. Weights of the kind `softmax` are positive and sum to 1; `linear` ones are any
        numbers. All begin equal, at 1 / (layers + 1)."""
        super().__init__()
        self.kind = kind
        first = 0.0 if kind == "softmax" else 1 / (layers + 1)
        self.gain = nn.Parameter(torch.full((layers + 1,), first))

    def weights(self) -> Float[Tensor, "outputs"]:
        """Of the embeddings, then of each layer."""
        return self.gain.softmax(0) if self.kind == "softmax" else self.gain

    def forward(self, memory: Float[Tensor, "sources width"]) -> Float[Tensor, "sources dim"]:
        """The sum of what lies side by side in `memory`."""
        outputs = memory.unflatten(1, (len(self.gain), -1))
        return torch.einsum("sld,l->sd", outputs, self.weights().to(memory.dtype))


def mix_weights(model: nn.Module) -> dict[str, float]:
    """The weights of every decoder layer that has some, by its name and what they are of."""
    found: dict[str, float] = {}
    for name, module in model.named_modules():
        if isinstance(module, EncoderMix):
            layer = name.removesuffix(".cross.mix")
            sources = ["embeddings", *(f"encoder.blocks.{number}" for number in range(len(module.gain) - 1))]
            weights = module.weights().detach().tolist()
            found |= {f"{layer} of {source}": weight for source, weight in zip(sources, weights, strict=True)}
    return found


def side_by_side(outputs: Sequence[Tensor], norm: nn.Module) -> Float[Tensor, "sources width"]:
    """The outputs of some layers, each through the encoder's last norm, so that their weights can be compared."""
    normed = [norm(each) for each in outputs]
    return normed[0] if len(normed) == 1 else torch.cat(normed, dim=1)
