"""The off-target rate: translations in another language than their references, as py3langid sees it."""

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from importlib import import_module
from importlib.metadata import version
from typing import Any

from trimtab.errors import input_error
from trimtab.metrics.metric import Score, TranslationMetric, check_aligned

MOST_CHARACTERS = 256
"""So many of a line are looked at."""
FEWEST_LETTERS = 12
"""With fewer letters in its reference a line is not judged: names and labels are of no one language."""
FEWEST_OWN = 3
"""Letters of a translation that is judged; fewer are no translation into another language."""


def off_target(translations: Sequence[str], references: Sequence[str]) -> Score:
    """Of a hundred lines, how many are translated into another language (Zhang et al. 2020, arXiv 2004.11867,
    section 5.1).

    The language is the one that most references are in. Only lines are judged whose reference is seen to be in it, so
    that names, code and what the library mistakes count for nothing. NaN where no line can be judged. Raises InputError
    on unequal or empty sets, and where the library is not installed.
    """
    check_aligned(translations, references)
    identify = identifier().classify
    seen = [
        identify(line[:MOST_CHARACTERS])[0] if letters(line) >= FEWEST_LETTERS else "" for line in references
    ]
    language = Counter(filter(None, seen)).most_common(1)[0][0] if any(seen) else ""
    judged = [line for line, found in zip(translations, seen, strict=True) if found == language and language]
    elsewhere = sum(
        letters(line) >= FEWEST_OWN and identify(line[:MOST_CHARACTERS])[0] != language for line in judged
    )
    return Score(
        name="off-target",
        value=100 * elsewhere / len(judged) if judged else float("nan"),
        signature=f"language:{language or 'none'}|lines:{len(judged)}|version:{version('py3langid')}",
    )


def letters(line: str) -> int:
    """How many letters a line has."""
    return sum(map(str.isalpha, line[:MOST_CHARACTERS]))


@lru_cache(maxsize=1)
def identifier() -> Any:
    """The library's identifier, whose model is in the package. Raises InputError where it is not installed."""
    try:
        library = import_module("py3langid.langid")
    except ImportError:
        raise input_error(
            "off_target: the library that tells languages apart is not installed",
            got="no module py3langid",
            allowed="the metric off_target with it",
            fix='pip install "trimtab[langid]"',
        ) from None
    return library.LanguageIdentifier.from_model_file(library.MODEL_FILE, norm_probs=True)


OFF_TARGET = TranslationMetric(
    name="off_target",
    label="off-target",
    about="percent of the lines translated into another language than that of the references, by py3langid; needs "
    '`pip install "trimtab[langid]"`',
    compute=lambda lines: off_target(lines.outputs, lines.references),
    check=lambda _: identifier(),
    lower_is_better=True,
)
