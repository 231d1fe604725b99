"""How surprised a language model is by a text: per token, and per byte, which compares models of any tokenizers."""

import math

from trimtab.metrics.metric import LossMetric

_MOST_NATS = 700.0
"""e to more than this is beyond float64."""


def _exp(nats: float) -> float:
    return math.exp(nats) if not nats > _MOST_NATS else math.inf


PERPLEXITY = LossMetric(
    name="perplexity",
    label="perplexity",
    about="e to the nats per token",
    compute=lambda nats: _exp(nats.per_token),
    digits=2,
    fine_digits=2,
)

BYTE_PERPLEXITY = LossMetric(
    name="byte_perplexity",
    label="byte perplexity",
    about="e to the nats per byte of UTF-8",
    compute=lambda nats: _exp(nats.per_byte),
    digits=3,
    fine_digits=4,
    brief=False,  # bits per byte say the same
)

# Gao et al. 2020, arXiv 2101.00027, section 3.1.
BITS_PER_BYTE = LossMetric(
    name="bits_per_byte",
    label="bits per byte",
    about="bits per byte of UTF-8",
    compute=lambda nats: nats.per_byte / math.log(2),
    digits=3,
    fine_digits=4,
    phrase="{1} {0}",
)
