"""Log-probabilities of the next symbol, with what may not come next put out of reach."""

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
    # An index that is a Python number is a fill without any copy to the device; a list of them would be a copy.
    for symbol in symbols.suppress:
        scores[..., symbol] = OUT_OF_REACH
    if at_limit is not None:
        end_scores = scores[..., symbols.end].clone()
        scores.masked_fill_(at_limit[:, None, None], OUT_OF_REACH)
        scores[..., symbols.end] = end_scores
    return scores
