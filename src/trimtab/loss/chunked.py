"""Cross-entropy that never holds the whole logits: a piece at a time, its gradient made in the same pass."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from trimtab.flow import LossOutput
from trimtab.loss.rows import PLAIN, RowFunctions, Sums, no_sums, told
from trimtab.loss.terms import Terms
from trimtab.loss.tiling import WHOLE_TOKENS, Precisions, Tiling, is_half, tiling

CHUNK_BYTES = 64 * 2**20
"""What of the logits is alive at once where nobody says otherwise."""


class Inputs(NamedTuple):
    """What the loss is a function of."""

    hidden: Float[Tensor, "tokens dim"]
    matrix: Float[Tensor, "rows dim"]
    labels: Int[Tensor, "tokens"]


class How(NamedTuple):
    """How it is made."""

    terms: Terms
    functions: RowFunctions
    precision: torch.dtype
    """Of logits and products."""
    limit: int
    """Bytes of logits at once."""


class Gradients(NamedTuple):
    """Of the summed objective; added up in memory that holds zeros at first."""

    hidden: Float[Tensor, "tokens dim"]
    matrix: Float[Tensor, "rows dim"]
    """In float32 or wider where little of it is there; else in the precision of the matrix, rounded once."""


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
    both gradients less than twice that in all, however large the vocabulary is (but see `tiling` for half precision).

    Both gradients are computed in the forward pass, since the logits are there then, and scaled in the backward pass;
    so the loss must enter the objective by multiplication with a number, as a sum over micro-batches does. Where no
    gradient is asked for, none is made. Under autocast the products run in its precision, the softmax and the sums in
    float32. A large vocabulary is cut as well as the tokens; its logits are made twice then.
    """
    device = hidden.device.type
    autocast = torch.is_autocast_enabled(device)
    precision = torch.get_autocast_dtype(device) if autocast else hidden.dtype
    inputs, how = Inputs(hidden, matrix, labels.contiguous()), How(terms, functions, precision, chunk_bytes)
    if not (torch.is_grad_enabled() and (hidden.requires_grad or matrix.requires_grad)):
        return passed(inputs, how, None)
    objective, loss, truncated = ChunkedCrossEntropy.apply(*inputs, how)
    return LossOutput(objective, loss, truncated)


class ChunkedCrossEntropy(torch.autograd.Function):
    """Loss and gradients together; the backward pass only scales."""

    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, matrix: Tensor, labels: Tensor, how: How
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Summed objective, loss and truncated labels; keeps the objective's gradients for the backward pass."""
        inputs = Inputs(hidden, matrix, labels)
        ctx.how, ctx.gradients = how, no_gradients(inputs, how)
        output = passed(inputs, how, ctx.gradients)
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
            gradients = no_gradients(inputs, ctx.how)
            passed(inputs, ctx.how, gradients)
        for each in gradients:
            multiply(each, scale, at_once=ctx.how.limit // 8)
        return *gradients, None, None


def no_gradients(inputs: Inputs, how: How) -> Gradients:
    """Zeros for both."""
    matrix = inputs.matrix
    dtype = torch.float32 if is_half(matrix.dtype) and piece_of(inputs, how).once else matrix.dtype
    return Gradients(torch.zeros_like(inputs.hidden), torch.zeros_like(matrix, dtype=dtype))


def piece_of(inputs: Inputs, how: How) -> Tiling:
    """How these logits are cut."""
    hidden, matrix, labels = inputs
    least = WHOLE_TOKENS.get(hidden.device.type, WHOLE_TOKENS["cpu"])
    of = Precisions(hidden.dtype, matrix.dtype, how.precision)
    return tiling(len(labels), *matrix.shape, of=of, limit=how.limit, least=least)


def multiply(total: Float[Tensor, "rows dim"], scale: Float[Tensor, ""], *, at_once: int) -> None:
    """In its own memory, by a number that is not rounded to half precision before; some elements at once."""
    if not is_half(total.dtype):
        total.mul_(scale)
        return
    for part in slices(len(total), max(1, at_once // max(1, total.shape[1]))):
        total[part] = total[part].float() * scale


@torch.no_grad()
def passed(inputs: Inputs, how: How, gradients: Gradients | None) -> LossOutput:
    """What the loss is, over all pieces; adds the gradients up too, where there is a place for them."""
    labels, piece = inputs.labels, piece_of(inputs, how)
    sums = no_sums(len(labels), like=inputs.hidden)
    # Autocast is off inside: the operands have their precision already, and the sums must keep theirs.
    with torch.autocast(labels.device.type, enabled=False):
        if piece.once:
            whole_rows(inputs, how, gradients, sums, tokens=piece.tokens)
        else:
            for group in slices(len(labels), max(1, piece.group)):
                sums_of_parts(inputs, how, sums, piece=piece, group=group)
                if gradients is not None:
                    gradients_of_parts(inputs, how, gradients, sums, piece=piece, group=group)
    return told(labels, sums, how.terms)


def whole_rows(inputs: Inputs, how: How, gradients: Gradients | None, sums: Sums, *, tokens: int) -> None:
    """Some tokens at a time, each product once; the gradient of the matrix is added up over them."""
    matrix = inputs.matrix.to(how.precision)
    for part in slices(len(inputs.labels), tokens):
        hidden, labels = inputs.hidden[part].to(how.precision), inputs.labels[part]
        logits = hidden @ matrix.T
        how.functions.add_to_sums(logits, labels, sums[:, part], first_row=0, terms=how.terms)
        if gradients is not None:
            how.functions.to_gradient(logits, labels, sums[:, part], first_row=0, terms=how.terms)
            add_product(gradients.hidden[part], logits, matrix)
            add_product(gradients.matrix, logits.T, hidden)
        del logits  # before the next ones are made


def sums_of_parts(inputs: Inputs, how: How, sums: Sums, *, piece: Tiling, group: slice) -> None:
    """The sums of some tokens over the whole vocabulary, a part of it at a time."""
    for ids in slices(len(inputs.matrix), piece.rows):
        matrix = inputs.matrix[ids].to(how.precision)
        for part in slices(group.stop, piece.tokens, start=group.start):
            logits = inputs.hidden[part].to(how.precision) @ matrix.T
            how.functions.add_to_sums(
                logits, inputs.labels[part], sums[:, part], first_row=ids.start, terms=how.terms
            )
            del logits
        del matrix


def gradients_of_parts(
    inputs: Inputs, how: How, gradients: Gradients, sums: Sums, *, piece: Tiling, group: slice
) -> None:
    """What some tokens add to the gradients, a part of the vocabulary at a time, once their sums are whole."""
    by_hidden = wide(gradients.hidden[group])
    for ids in slices(len(inputs.matrix), piece.rows):
        matrix = inputs.matrix[ids].to(how.precision)
        total = wide(gradients.matrix[ids])
        for part in slices(group.stop, piece.tokens, start=group.start):
            hidden = inputs.hidden[part].to(how.precision)
            logits = hidden @ matrix.T
            how.functions.to_gradient(
                logits, inputs.labels[part], sums[:, part], first_row=ids.start, terms=how.terms
            )
            add_product(by_hidden[part.start - group.start : part.stop - group.start], logits, matrix)
            add_product(total, logits.T, hidden)
            del logits
        put_back(gradients.matrix[ids], total)
        del matrix, total
    put_back(gradients.hidden[group], by_hidden)


def wide(total: Float[Tensor, "rows dim"]) -> Float[Tensor, "rows dim"]:
    """Where to add up what comes to a total: in its own memory, or with it in wider precision."""
    return total.float() if is_half(total.dtype) else total


def put_back(total: Float[Tensor, "rows dim"], added_up: Float[Tensor, "rows dim"]) -> None:
    """What was added up in wider precision, where it was."""
    if added_up.dtype != total.dtype:
        total.copy_(added_up)


def slices(stop: int, size: int, *, start: int = 0) -> Iterator[slice]:
    """A stretch in pieces of a size."""
    return (slice(first, min(stop, first + size)) for first in range(start, stop, size))


def add_product(
    total: Float[Tensor, "rows dim"], left: Float[Tensor, "rows tokens"], right: Float[Tensor, "tokens dim"]
) -> None:
    """Adds `left @ right` to a total, which may be of wider precision."""
    if total.dtype == left.dtype:
        total.addmm_(left, right)
    elif total.device.type == "cuda" and torch.version.hip is None:
        torch.addmm(total, left, right, out_dtype=total.dtype, out=total)
    else:
        total.addmm_(left.to(total.dtype), right.to(total.dtype))
