"""Word error rate."""

from trimtab.metrics.metric import ReadingMetric, Readings, edit_distance


def wer(given: Readings) -> float:
    """Edits of the words between spaces divided by the words of all references; says nothing of scripts without spaces.
    NaN where the references have no word."""
    pairs = [(one.split(), other.split()) for one, other in zip(given.outputs, given.references, strict=True)]
    words = sum(len(reference) for _, reference in pairs)
    return sum(edit_distance(*pair) for pair in pairs) / words if words else float("nan")


WER = ReadingMetric(name="wer", label="WER", about="word edits for each word of the reference", compute=wer)
