"""Chooses the loss that a recipe asks for."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

from trimtab.config.loss import LossConfig
from trimtab.flow import LossOutput
from trimtab.loss.chunked import chunked_cross_entropy, loss_of_chunk
from trimtab.loss.terms import Terms

CPU_CHUNK_BYTES = 4 * 2**20
"""About what stays in the caches of one core."""
GPU_CHUNK_BYTES = 256 * 2**20


class Loss:
    """A function of hidden vectors, output matrix and labels."""

    def __init__(self, config: LossConfig, *, num_ids: int, chunk_bytes: int, compiled: bool) -> None:
        self.config, self.chunk_bytes = config, chunk_bytes
        self.num_ids = num_ids
        self.of_chunk = torch.compile(loss_of_chunk, dynamic=False) if compiled else loss_of_chunk
        self.truncating = False
        """Whether labels are left out by now; who counts the steps says when."""

    def __call__(
        self,
        hidden: Float[Tensor, "tokens dim"],
        matrix: Float[Tensor, "rows dim"],
        labels: Int[Tensor, "tokens"],
    ) -> LossOutput:
        """Summed over the labels, in chunks."""
        return chunked_cross_entropy(
            hidden, matrix, labels, self.terms, chunk_bytes=self.chunk_bytes, of_chunk=self.of_chunk
        )

    @property
    def terms(self) -> Terms:
        """What the loss is made of now."""
        truncate = self.config.truncate
        bound = truncate.error_norm if truncate is not None and self.truncating else math.inf
        return Terms(self.num_ids, self.config.label_smoothing, self.config.z_loss, bound)


def build_loss(config: LossConfig, *, num_ids: int, device: torch.device, compiled: bool) -> Loss:
    """The loss of a recipe; `compiled` fuses its elementwise part on a GPU."""
    chunk_bytes = GPU_CHUNK_BYTES if device.type == "cuda" else CPU_CHUNK_BYTES
    return Loss(config, num_ids=num_ids, chunk_bytes=chunk_bytes, compiled=compiled)
