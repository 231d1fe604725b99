"""How long a translation may become."""

PER_SOURCE_TOKEN = 2
BESIDES = 10


def target_limit(source_tokens: int, *, max_tokens: int, prefix_tokens: int = 0) -> int:
    """The largest number of target tokens, end symbol included, for a source of so many tokens, end included.

    Twice the source and ten more, at most `max_tokens`: the model never saw longer targets. Real pairs stay far
    below (a ratio of 2 between languages in the same vocabulary is rare, and short lines have the ten), and a model
    that cannot find the end is stopped before it fills the batch with repetitions. Behind a forced prefix there is
    room for the ten at least.
    """
    return min(max_tokens, max(PER_SOURCE_TOKEN * source_tokens, prefix_tokens) + BESIDES)
