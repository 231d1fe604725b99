"""Character error rate."""

from trimtab.metrics.metric import ReadingMetric, Readings, edit_distance


def cer(given: Readings) -> float:
    """Edits of all lines divided by the characters of all references, spaces included, so that a long line counts more
    than a short one; above 1 where more is invented than there is. NaN where the references have no character."""
    edits = sum(map(edit_distance, given.outputs, given.references))
    characters = sum(map(len, given.references))
    return edits / characters if characters else float("nan")


CER = ReadingMetric(
    name="cer", label="CER", about="character edits for each character of the reference", compute=cer
)
