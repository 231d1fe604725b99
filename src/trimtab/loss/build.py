"""Chooses the loss that a recipe asks for."""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from trimtab.config.loss import LossConfig
from trimtab.flow import LossOutput
from trimtab.loss.chunked import chunked_cross_entropy, loss_of_chunk
from trimtab.loss.terms import Terms

Loss = Callable[[Float[Tensor, "tokens dim"], Float[Tensor, "rows dim"], Int[Tensor, "tokens"]], LossOutput]

CPU_CHUNK_BYTES = 4 * 2**20
"""About what stays in the caches of one core."""
GPU_CHUNK_BYTES = 256 * 2**20


def build_loss(config: LossConfig, *, num_ids: int, device: torch.device, compiled: bool) -> Loss:
    """A function of hidden vectors, output matrix and labels; `compiled` fuses its elementwise part on a GPU."""
    of_chunk = torch.compile(loss_of_chunk, dynamic=False) if compiled else loss_of_chunk
    terms = Terms(num_ids, config.label_smoothing, config.z_loss)
    chunk_bytes = GPU_CHUNK_BYTES if device.type == "cuda" else CPU_CHUNK_BYTES

    def loss(
        hidden: Float[Tensor, "tokens dim"], matrix: Float[Tensor, "rows dim"], labels: Int[Tensor, "tokens"]
    ) -> LossOutput:
        return chunked_cross_entropy(
            hidden,
            matrix,
            labels,
            terms,
            chunk_bytes=chunk_bytes,
            of_chunk=of_chunk,
        )

    return loss
