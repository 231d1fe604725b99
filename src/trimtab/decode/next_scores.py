"""Log-probabilities of the next token, with forbidden tokens masked."""

from functools import cache

from jaxtyping import Bool, Float
from torch import Tensor

from trimtab.decode.hypothesis import Symbols

OUT_OF_REACH = float("-inf")


def next_scores(
    logits: Float[Tensor, "rows width vocabulary"],
    *,
    symbols: Symbols,
    at_limit: Bool[Tensor, "rows"] | None = None,
) -> Float[Tensor, "rows width vocabulary"]:
    """Log-softmax in which suppressed symbols are minus infinity and rows at their limit can only end.

    A sentence that is cut by its limit is thus scored with its end symbol like every other. One NaN among the logits
    of a hypothesis makes all its scores NaN, so that the best one shows it.
    """
    scores = logits.log_softmax(-1)
    # A slice is filled without any copy to the device; an index that is a list would be a copy.
    for first, last in _stretches(symbols.suppress):
        scores[..., first : last + 1] = OUT_OF_REACH
    if at_limit is not None:
        end_scores = scores[..., symbols.end].clone()
        scores.masked_fill_(at_limit[:, None, None], OUT_OF_REACH)
        scores[..., symbols.end] = end_scores
    return scores


@cache
def _stretches(symbols: tuple[int, ...]) -> list[tuple[int, int]]:
    """First and last of the neighbours among them: the special symbols of a vocabulary mostly are."""
    found: list[tuple[int, int]] = []
    for symbol in sorted(symbols):
        if found and found[-1][1] >= symbol - 1:
            found[-1] = found[-1][0], symbol
        else:
            found.append((symbol, symbol))
    return found
