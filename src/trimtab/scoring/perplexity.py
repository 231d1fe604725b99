"""How surprised a language model is by a text: per token, and per byte, which compares models of any tokenizers."""

import math

_MOST_NATS = 700.0
"""e to more than this is beyond float64."""


def perplexities(loss: float, *, num_targets: int, num_bytes: int) -> dict[str, float]:
    """`perplexity`, `byte_perplexity` and `bits_per_byte` from the nats per target token of a text.

    The perplexity is e to the nats per token. Per byte the nats of all tokens, those of the end symbols too, are
    divided by the bytes of the text in UTF-8, which end symbols have none of: e to that is the perplexity per byte, and
    divided by ln 2 it is bits per byte (Gao et al. 2020, arXiv 2101.00027, section 3.1). NaN where there is no text.
    """
    per_byte = loss * num_targets / num_bytes if num_bytes else math.nan
    return {
        "perplexity": _exp(loss),
        "byte_perplexity": _exp(per_byte),
        "bits_per_byte": per_byte / math.log(2),
    }


def _exp(nats: float) -> float:
    return math.exp(nats) if not nats > _MOST_NATS else math.inf
