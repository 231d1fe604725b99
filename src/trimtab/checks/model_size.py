"""How large a translator is, as far as its width and depth tell; enough to say tiny from not tiny."""

from trimtab.checks.description import Description

TINY = 200e6
"""Parameters below which the experience with small translators was gathered (50 to 200 million)."""
_VOCABULARY = 32000
_ABSURD = 10**9
"""No size of a model; a file may hold any number."""


def translator_size(run: Description) -> float | None:
    """Parameters with feed-forward layers of four times the width; None if a size is unknown.

    A layer of the encoder has 4 d^2 in attention and 8 d^2 behind it, one of the decoder 4 d^2 more.
    """
    width, layers = run.value("hidden_size"), run.value("layers")
    if width is None or layers is None or not (0 < width < _ABSURD and 0 < layers < _ABSURD):
        return None
    known = run.value("vocab_size")
    vocabulary = known if known is not None and 0 < known < _ABSURD else _VOCABULARY
    return float(28 * width**2 * layers + vocabulary * width)


def is_tiny_translator(run: Description) -> bool:
    """Whether an encoder-decoder starts from random weights and stays small."""
    size = translator_size(run)
    starts = run.value("from_scratch") is True and run.value("encoder_decoder") is True
    return starts and size is not None and size < TINY
