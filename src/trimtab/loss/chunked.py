"""Cross-entropy that never holds the whole logits: a piece at a time, its gradient made in the same pass."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from trimtab.flow import LossOutput
from trimtab.loss.rows import PLAIN, RowFunctions, Sums, no_sums, told
from trimtab.loss.terms import Terms
from trimtab.loss.tiling import WHOLE_TOKENS, Tiling, tiling, wide_of

CHUNK_BYTES = 64 * 2**20
"""What of the logits is alive at once where nobody says otherwise."""


class Inputs(NamedTuple):
    """What the loss is a function of."""

    hidden: Float[Tensor, "tokens dim"]
    matrix: Float[Tensor, "rows dim"]
    labels: Int[Tensor, "tokens"]


class Gradients(NamedTuple):
    """Of the summed objective."""

    hidden: Float[Tensor, "tokens dim"]
    matrix: Float[Tensor, "rows dim"]


def chunked_cross_entropy(
    hidden: Float[Tensor, "tokens dim"],
    matrix: Float[Tensor, "rows dim"],
    labels: Int[Tensor, "tokens"],
    terms: Terms,
    *,
    chunk_bytes: int = CHUNK_BYTES,
    functions: RowFunctions = PLAIN,
) -> LossOutput:
    """The same numbers as `plain_cross_entropy`, with at most about `chunk_bytes` of logits alive at once, and beside
    both gradients less than twice that in all, however large the vocabulary is.

    Both gradients are computed in the forward pass, since the logits are there then, and scaled in the backward pass;
    so the loss must enter the objective by multiplication with a number, as a sum over micro-batches does. Where no
    gradient is asked for, none is made. Under autocast the products run in its precision, the softmax and the sums in
    float32. A large vocabulary is cut as well as the tokens; its logits are made twice then.
    """
    inputs = Inputs(hidden, matrix, labels)
    work = Work(terms, chunk_bytes, functions)
    if not (torch.is_grad_enabled() and (hidden.requires_grad or matrix.requires_grad)):
        return work(inputs, None)
    objective, loss, truncated = ChunkedCrossEntropy.apply(*inputs, work)
    return LossOutput(objective, loss, truncated)


class ChunkedCrossEntropy(torch.autograd.Function):
    """Loss and gradients together; the backward pass only scales."""

    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, matrix: Tensor, labels: Tensor, work: "Work"
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Summed objective, loss and truncated labels; keeps the objective's gradients for the backward pass."""
        ctx.work, ctx.gradients = work, no_gradients(hidden, matrix)
        output = work(Inputs(hidden, matrix, labels), ctx.gradients)
        ctx.save_for_backward(hidden, matrix, labels)
        assert output.truncated is not None
        ctx.mark_non_differentiable(output.loss, output.truncated)
        return output.objective, output.loss, output.truncated

    @staticmethod
    def backward(ctx: Any, scale: Tensor, *_: Tensor | None) -> tuple:
        """The kept gradients times the objective's own, in their own memory; a retained graph makes them anew."""
        inputs = Inputs(*ctx.saved_tensors)
        gradients, ctx.gradients = ctx.gradients, None
        if gradients is None:
            gradients = no_gradients(inputs.hidden, inputs.matrix)
            ctx.work(inputs, gradients)
        return *(each.mul_(scale.to(each.dtype)) for each in gradients), None, None


def no_gradients(hidden: Tensor, matrix: Tensor) -> Gradients:
    """Memory for both."""
    return Gradients(torch.empty_like(hidden), torch.empty_like(matrix))


class Work:
    """The passes over all pieces of the logits."""

    def __init__(self, terms: Terms, limit: int, functions: RowFunctions) -> None:
        self.terms, self.limit, self.functions = terms, limit, functions

    @torch.no_grad()
    def __call__(self, inputs: Inputs, gradients: Gradients | None) -> LossOutput:
        """What the loss is; writes the gradients too, where there is a place for them."""
        hidden, matrix, labels = inputs
        device = hidden.device.type
        dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else hidden.dtype
        sums = no_sums(len(labels), like=hidden)
        least = WHOLE_TOKENS.get(device, WHOLE_TOKENS["cpu"])
        piece = tiling(
            len(hidden), *matrix.shape, logits=dtype, weights=matrix.dtype, limit=self.limit, least=least
        )
        # Autocast is off inside: the operands have their precision already, and the sums must keep theirs.
        with torch.autocast(device, enabled=False):
            if piece.once:
                self.whole_rows(inputs, gradients, sums, dtype=dtype, tokens=piece.tokens)
            else:
                self.parts_of_rows(inputs, gradients, sums, dtype=dtype, piece=piece)
        return told(labels, sums, self.terms)

    def whole_rows(
        self, inputs: Inputs, gradients: Gradients | None, sums: Sums, *, dtype: torch.dtype, tokens: int
    ) -> None:
        """Some tokens at a time, each product once; the gradient of the matrix is added up over them."""
        matrix = inputs.matrix.to(dtype)
        total = None if gradients is None else wide_like(gradients.matrix)
        for part in slices(len(inputs.labels), tokens):
            hidden = inputs.hidden[part].to(dtype)
            logits = hidden @ matrix.T
            given = {"first_row": 0, "terms": self.terms}
            self.functions.add_to_sums(logits, inputs.labels[part], sums[:, part], **given)
            if gradients is not None and total is not None:
                self.functions.to_gradient(logits, inputs.labels[part], sums[:, part], **given)
                add_product(gradients.hidden[part], logits, matrix, first=True)
                add_product(total, logits.T, hidden, first=part.start == 0)
            del logits
        if gradients is not None and total is not gradients.matrix:
            gradients.matrix.copy_(total)

    def parts_of_rows(
        self, inputs: Inputs, gradients: Gradients | None, sums: Sums, *, dtype: torch.dtype, piece: Tiling
    ) -> None:
        """Many tokens and a part of the vocabulary at a time; the sums must be whole before a gradient can be made."""
        for part in slices(len(inputs.labels), piece.tokens):
            hidden, labels = inputs.hidden[part].to(dtype), inputs.labels[part]
            for ids in slices(len(inputs.matrix), piece.rows):
                logits = hidden @ inputs.matrix[ids].to(dtype).T
                given = {"first_row": ids.start, "terms": self.terms}
                self.functions.add_to_sums(logits, labels, sums[:, part], **given)
                del logits
            if gradients is None:
                continue
            by_hidden = torch.empty_like(hidden, dtype=sums.dtype)
            for ids in slices(len(inputs.matrix), piece.rows):
                matrix = inputs.matrix[ids].to(dtype)
                logits = hidden @ matrix.T
                given = {"first_row": ids.start, "terms": self.terms}
                self.functions.to_gradient(logits, labels, sums[:, part], **given)
                add_product(by_hidden, logits, matrix, first=ids.start == 0)
                add_product(gradients.matrix[ids], logits.T, hidden, first=part.start == 0)
                del logits, matrix
            gradients.hidden[part] = by_hidden


def wide_like(total: Tensor) -> Tensor:
    """Memory to add up in: the place itself, where its precision is wide enough."""
    wide = wide_of(total.dtype)
    return total if wide == total.dtype else torch.empty_like(total, dtype=wide)


def slices(count: int, size: int) -> Iterator[slice]:
    """All of so many, in pieces of a size."""
    return (slice(start, min(count, start + size)) for start in range(0, count, size))


def add_product(
    total: Float[Tensor, "rows dim"],
    left: Float[Tensor, "rows tokens"],
    right: Float[Tensor, "tokens dim"],
    *,
    first: bool,
) -> None:
    """Adds `left @ right` to a total, which may be of wider precision; the first product takes its place."""
    beta = 0 if first else 1
    if total.dtype == left.dtype:
        torch.addmm(total, left, right, beta=beta, out=total)
    elif total.device.type == "cuda":
        torch.addmm(total, left, right, out_dtype=total.dtype, beta=beta, out=total)
    elif first:
        total.copy_(left @ right)
    else:
        total += left @ right
