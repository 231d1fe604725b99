"""Batches rows for translation: sorted by length, up to a token budget."""

from collections.abc import Iterator, Sequence

GPU_BATCH_TOKENS = 32768
"""Source tokens of one batch on a GPU, times the beam, where sessions grow."""
MOST_HYPOTHESES = 1024
"""Rows times beam of one batch; very short rows would else make a batch whose scores over the vocabulary fill the
memory."""


def batches_by_tokens(
    lengths: Sequence[int], *, beam: int, batch_tokens: int, most_hypotheses: int = MOST_HYPOTHESES
) -> Iterator[list[int]]:
    """Row numbers, batch by batch, each row once, the longest first so that too large a budget is noticed at once.

    A batch closes before rows * longest row * beam goes beyond `batch_tokens`, which counts the padding that a model
    may need, or rows * beam beyond `most_hypotheses`. It holds at least one row, however long.
    """
    batch: list[int] = []
    longest = 0
    for row in sorted(range(len(lengths)), key=lambda row: -lengths[row]):
        hypotheses = (len(batch) + 1) * beam
        if batch and (hypotheses * longest > batch_tokens or hypotheses > most_hypotheses):
            yield batch
            batch = []
        if not batch:
            longest = lengths[row]
        batch.append(row)
    if batch:
        yield batch
