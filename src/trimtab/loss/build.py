"""Chooses the loss that a recipe asks for."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

from trimtab.config.loss import LossConfig
from trimtab.gpu.triton_runs import triton_runs_on
from trimtab.logit_tiles import GPU_CHUNK_BYTES, SLOW_CHUNK_BYTES
from trimtab.loss.chunked import chunked_cross_entropy
from trimtab.loss.rows import PLAIN, RowFunctions
from trimtab.loss.terms import Terms
from trimtab.types import LossOutput

CPU_CHUNK_BYTES = 4 * 2**20
"""About what stays in the caches of one core."""


class Loss:
    """A function of hidden vectors, output matrix and labels."""

    def __init__(
        self,
        config: LossConfig,
        *,
        num_ids: int,
        chunk_bytes: int,
        functions: RowFunctions = PLAIN,
        logit_cap: float | None = None,
    ) -> None:
        """`logit_cap` is that of the model, see `Terms.logit_cap`; None for none."""
        self.config, self.num_ids = config, num_ids
        self.logit_cap = math.inf if logit_cap is None else logit_cap
        self.chunk_bytes, self.functions = chunk_bytes, functions
        self.truncating = False
        """Whether labels are left out by now; who counts the steps says when."""

    def __call__(
        self,
        hidden: Float[Tensor, "tokens dim"],
        matrix: Float[Tensor, "rows dim"],
        labels: Int[Tensor, "tokens"],
    ) -> LossOutput:
        """Summed over the labels, in pieces."""
        return chunked_cross_entropy(
            hidden, matrix, labels, self.terms, chunk_bytes=self.chunk_bytes, functions=self.functions
        )

    @property
    def terms(self) -> Terms:
        """What the loss is made of now."""
        truncate = self.config.truncate
        bound = truncate.error_norm if truncate is not None and self.truncating else math.inf
        return Terms(self.num_ids, self.config.label_smoothing, self.config.z_loss, bound, self.logit_cap)


def build_loss(
    config: LossConfig, *, num_ids: int, device: torch.device, logit_cap: float | None = None
) -> Loss:
    """The loss of a recipe, by the fastest functions that the device runs; logits with a cap have none in Triton."""
    if device.type != "cuda":
        return Loss(config, num_ids=num_ids, chunk_bytes=CPU_CHUNK_BYTES, logit_cap=logit_cap)
    if logit_cap is not None or not triton_runs_on(device):
        return Loss(config, num_ids=num_ids, chunk_bytes=SLOW_CHUNK_BYTES, logit_cap=logit_cap)
    from trimtab.loss.row_kernels import KERNELS  # late: needs Triton

    return Loss(config, num_ids=num_ids, chunk_bytes=GPU_CHUNK_BYTES, functions=KERNELS)
