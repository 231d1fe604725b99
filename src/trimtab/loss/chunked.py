"""Cross-entropy that never holds the whole logits: a piece at a time, its gradient made in the same pass."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from trimtab.arguments import described, instance_of, whole_number, wrong
from trimtab.logit_tiles import WHOLE_TOKENS, Precisions, Tiling, tiling
from trimtab.loss.rows import PLAIN, RowFunctions, Sums, loss_output, no_sums
from trimtab.loss.terms import Terms, TermsOfLoss
from trimtab.types import IGNORE, LossOutput

CHUNK_BYTES = 64 * 2**20
"""What of the logits is alive at once where nobody says otherwise."""
MOST_COUNTED = 0.75
"""Where a larger share of the labels counts, copying the vectors saves little."""


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
    trains_matrix: bool = True
    """Whether the matrix gets a gradient; a frozen one costs no product for it."""


class Gradients(NamedTuple):
    """Of the summed objective."""

    hidden: Float[Tensor, "tokens dim"]
    """In float32 or wider."""
    matrix: Float[Tensor, "rows dim"] | None
    """The same where it is small; else in the precision of the matrix. None for a frozen matrix."""


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
    both gradients less than twice that in all, however large the vocabulary is. Where hidden vectors are in half
    precision, their gradient is in float32 until the backward pass.

    Both gradients are computed in the forward pass, since the logits are there then, and scaled in the backward pass;
    so the loss must enter the objective by multiplication with a number, as a sum over micro-batches does. Where no
    gradient is asked for, none is made. Under autocast the products run in its precision, the softmax and the sums in
    float32. A large vocabulary is cut as well as the tokens; its logits are made twice then.
    """
    check_shapes(Inputs(hidden, matrix, labels), terms, chunk_bytes=chunk_bytes)
    check_labels(Inputs(hidden, matrix, labels), terms)
    hidden, labels = rows_that_count(hidden, labels)
    device = hidden.device.type
    autocast = torch.is_autocast_enabled(device)
    precision = torch.get_autocast_dtype(device) if autocast else hidden.dtype
    inputs = Inputs(hidden, matrix, labels.contiguous())
    how = How(terms, functions, precision, chunk_bytes, matrix.requires_grad)
    if not (torch.is_grad_enabled() and (hidden.requires_grad or matrix.requires_grad)):
        return passed(inputs, how, None)
    objective, loss, truncated = ChunkedCrossEntropy.apply(*inputs, how)
    return LossOutput(objective, loss, truncated)


def rows_that_count(
    hidden: Float[Tensor, "tokens dim"], labels: Int[Tensor, "tokens"]
) -> tuple[Float[Tensor, "counted dim"], Int[Tensor, "counted"]]:
    """Vectors and labels without those that do not count, such as prompts, where these are a quarter or more; on a CPU
    alone, since a GPU would have to be waited for."""
    if labels.device.type != "cpu":
        return hidden, labels
    counts = labels != IGNORE
    if not 0 < int(counts.sum()) <= MOST_COUNTED * len(labels):
        return hidden, labels
    return hidden[counts], labels[counts]


def check_shapes(inputs: Inputs, terms: Terms, *, chunk_bytes: int) -> None:
    """Raises InputError for tensors of other shapes and types than those of vectors, a matrix and labels."""
    shapes = (
        (inputs.hidden, 2, "hidden", "(tokens, dim)"),
        (inputs.matrix, 2, "matrix", "(vocabulary, dim)"),
    )
    for tensor, axes, name, shape in (*shapes, (inputs.labels, 1, "labels", "(tokens,)")):
        kinds = "whole numbers" if name == "labels" else "floats"
        fits = isinstance(tensor, Tensor) and tensor.ndim == axes
        if not fits or tensor.is_floating_point() == (name == "labels"):
            fix = "flatten rows and positions first: hidden.flatten(0, 1), labels.flatten()"
            raise wrong(
                f"chunked_cross_entropy: {name}",
                "has another shape or type",
                got=described(tensor),
                allowed=f"a tensor of shape {shape}, {kinds}",
                fix=fix,
            )
    if inputs.hidden.shape[1] != inputs.matrix.shape[1]:
        raise wrong(
            "chunked_cross_entropy: matrix",
            "does not fit the hidden vectors",
            got=f"rows of {inputs.matrix.shape[1]} numbers for vectors of {inputs.hidden.shape[1]}",
            allowed="one row for each id, as long as a hidden vector",
            fix="pass the weight of the output layer, nn.Linear(dim, vocabulary).weight",
        )
    instance_of(
        terms, TermsOfLoss, name="chunked_cross_entropy: terms", allowed="Terms", fix="Terms(vocabulary)"
    )
    whole_number(chunk_bytes, name="chunked_cross_entropy: chunk_bytes", least=1, fix="leave it out")


def check_labels(inputs: Inputs, terms: Terms) -> None:
    """Raises ValueError if there is not one label for each vector or not a row for each id, and IndexError if a
    label stands for nothing; the latter on a CPU alone, since a GPU would have to be waited for."""
    hidden, matrix, labels = inputs
    if terms.num_ids > len(matrix):
        raise ValueError(
            f"{terms.num_ids} ids for {len(matrix)} rows of the matrix; allowed is a row for each"
        )
    if len(labels) != len(hidden):
        raise ValueError(f"{len(labels)} labels for {len(hidden)} hidden vectors; allowed is one for each")
    if labels.device.type == "cpu" and len(labels):
        wrong = labels[((labels < 0) & (labels != IGNORE)) | (labels >= terms.num_ids)]
        if len(wrong):
            raise IndexError(f"label {int(wrong[0])}; allowed is 0 to {terms.num_ids - 1}, or {IGNORE}")


class ChunkedCrossEntropy(torch.autograd.Function):
    """Loss and gradients together; the backward pass only scales."""

    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, matrix: Tensor, labels: Tensor, how: How
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Summed objective, loss and truncated labels; keeps the objective's gradients for the backward pass."""
        inputs = Inputs(hidden, matrix, labels)
        ctx.how, ctx.gradients = how, gradient_buffers(inputs, how)
        output = passed(inputs, how, ctx.gradients)
        ctx.save_for_backward(hidden, matrix, labels)
        assert output.truncated is not None
        ctx.mark_non_differentiable(output.loss, output.truncated)
        return output.objective, output.loss, output.truncated

    @staticmethod
    def backward(ctx: Any, scale: Tensor, *_: Tensor | None) -> tuple:
        """The kept gradients times the objective's own, in their own memory; a retained graph makes them again.

        RuntimeError if they are to be differentiated once more, as `create_graph` asks for.
        """
        if torch.is_grad_enabled():
            raise RuntimeError(
                "second derivatives of this loss are not made; torch.nn.functional.cross_entropy has them"
            )
        inputs = Inputs(*ctx.saved_tensors)
        gradients, ctx.gradients = ctx.gradients, None
        if gradients is None:
            gradients = gradient_buffers(inputs, ctx.how)
            passed(inputs, ctx.how, gradients)
        for each in gradients:
            if each is not None:
                multiply(each, scale, at_once=ctx.how.limit // 8)
        return *gradients, None, None


def gradient_buffers(inputs: Inputs, how: How) -> Gradients:
    """Memory for both, which nothing was written to yet."""
    hidden, matrix, _ = inputs
    dtype = wide(matrix.dtype) if piece_of(inputs, how).once else matrix.dtype
    by_hidden = torch.empty_like(hidden, dtype=wide(hidden.dtype))
    return Gradients(by_hidden, torch.empty_like(matrix, dtype=dtype) if how.trains_matrix else None)


def piece_of(inputs: Inputs, how: How) -> Tiling:
    """How these logits are cut."""
    hidden, matrix, labels = inputs
    least = WHOLE_TOKENS.get(hidden.device.type, WHOLE_TOKENS["cpu"])
    sizes = (each.itemsize for each in (hidden.dtype, matrix.dtype, how.precision))
    of = Precisions(*sizes, trains_weights=how.trains_matrix)
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
    """What the loss is, over all pieces; writes the gradients too, where there is a place for them."""
    labels, piece = inputs.labels, piece_of(inputs, how)
    sums = no_sums(len(labels), like=inputs.hidden)
    if gradients is not None and gradients.matrix is not None and not len(labels):
        gradients.matrix.zero_()
    # Autocast is off inside: the operands have their precision already, and the sums must keep theirs.
    with torch.autocast(labels.device.type, enabled=False):
        if piece.once:
            whole_rows(inputs, how, gradients, sums, tokens=piece.tokens)
        else:
            sums_of_parts(inputs, how, sums, piece=piece)
            if gradients is not None:
                gradients_of_parts(inputs, how, gradients, sums, piece=piece)
    return loss_output(labels, sums, how.terms)


def whole_rows(inputs: Inputs, how: How, gradients: Gradients | None, sums: Sums, *, tokens: int) -> None:
    """Some tokens at a time, each product once; the gradient of the matrix is added up over them."""
    matrix = inputs.matrix.to(how.precision)
    for part in slices(len(inputs.labels), tokens):
        hidden, labels = inputs.hidden[part].to(how.precision), inputs.labels[part]
        logits = hidden @ matrix.T
        how.functions.add_to_sums(logits, labels, sums[:, part], first_row=0, terms=how.terms)
        if gradients is not None:
            how.functions.to_gradient(logits, labels, sums[:, part], first_row=0, terms=how.terms)
            add_product(gradients.hidden[part], logits, matrix, first=True)
            if gradients.matrix is not None:
                add_product(gradients.matrix, logits.T, hidden, first=part.start == 0)
        del logits  # before the next ones are made


def sums_of_parts(inputs: Inputs, how: How, sums: Sums, *, piece: Tiling) -> None:
    """The sums of all tokens over the whole vocabulary, a part of it at a time."""
    for ids in slices(len(inputs.matrix), piece.rows):
        matrix = inputs.matrix[ids].to(how.precision)
        for part in slices(len(inputs.labels), piece.tokens):
            logits = inputs.hidden[part].to(how.precision) @ matrix.T
            how.functions.add_to_sums(
                logits, inputs.labels[part], sums[:, part], first_row=ids.start, terms=how.terms
            )
            del logits
        del matrix


def gradients_of_parts(inputs: Inputs, how: How, gradients: Gradients, sums: Sums, *, piece: Tiling) -> None:
    """The gradients, by a part of the vocabulary at a time, once the sums are whole."""
    for ids in slices(len(inputs.matrix), piece.rows):
        matrix = inputs.matrix[ids].to(how.precision)
        by_matrix = None if gradients.matrix is None else gradients.matrix[ids]
        # Rounded once, however many pieces there are.
        total = by_matrix.float() if by_matrix is not None and is_half(by_matrix.dtype) else by_matrix
        for part in slices(len(inputs.labels), piece.tokens):
            hidden = inputs.hidden[part].to(how.precision)
            logits = hidden @ matrix.T
            how.functions.to_gradient(
                logits, inputs.labels[part], sums[:, part], first_row=ids.start, terms=how.terms
            )
            add_product(gradients.hidden[part], logits, matrix, first=ids.start == 0)
            if total is not None:
                add_product(total, logits.T, hidden, first=part.start == 0)
            del logits
        if by_matrix is not None and total is not None and total is not by_matrix and len(inputs.labels):
            by_matrix.copy_(total)
        del matrix, total


def is_half(dtype: torch.dtype) -> bool:
    """Whether sums need a wider precision."""
    return dtype.itemsize < 4


def wide(dtype: torch.dtype) -> torch.dtype:
    """Float32 or wider, in which sums are made."""
    return torch.promote_types(dtype, torch.float32)


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
    """Adds `left @ right` to a total, which may be of wider precision; the first product takes its place, whatever
    stood there."""
    beta = 0 if first else 1
    if total.dtype == left.dtype:
        torch.addmm(total, left, right, beta=beta, out=total)
    elif total.device.type == "cuda" and torch.version.hip is None:
        torch.addmm(total, left, right, out_dtype=total.dtype, beta=beta, out=total)
    else:
        torch.addmm(total, left.to(total.dtype), right.to(total.dtype), beta=beta, out=total)
