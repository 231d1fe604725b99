"""Signs of a model that repeats itself: inside a line, and from line to line."""

import math
from collections import Counter
from collections.abc import Sequence

from trimtab.errors import input_error
from trimtab.finding import Finding
from trimtab.run_findings.evaluations import COLLAPSED_OUTPUTS, TRANSLATIONS_REPEAT_THEMSELVES

NUM_PROBES = 32
"""Sentences that a collapse is judged by."""
LEAST_DISTINCT = 0.2
"""A smaller share of distinct translations is a collapse."""
MOST_REPEATED, MORE_THAN_REFERENCES = 0.05, 10.0
"""A larger share of repeated 4-grams, and so many times that of the references, is a model caught in loops..."""
LOOP, MOST_LOOPS, FEWEST_LOOPS = 0.3, 0.1, 3
"""... where so many lines repeat this share of their own: one long line is not enough. A healthy translator of the demo
had one loop in 50 lines, with a share of 0.24 over all, at a third of its training."""
_N = 4


def repeated_4grams(translations: Sequence[str]) -> float:
    """The share of 4-grams that repeat one earlier in the line, over all lines: 1 - distinct / total.

    Words are what white space separates. Distinct ones are counted for each line by itself, so that a phrase that
    two lines share is no repetition. 0 where no line has four words.
    """
    total = 0
    distinct = 0
    for line in translations:
        words = line.split()
        grams = [tuple(words[start : start + _N]) for start in range(len(words) - _N + 1)]
        total += len(grams)
        distinct += len(set(grams))
    return 1 - distinct / total if total else 0.0


def distinct_outputs(sources: Sequence[str], translations: Sequence[str]) -> float:
    """The share of different translations among different sources; 1 where no two sources are translated alike.

    A source that comes twice counts once, with its first translation. Raises InputError on unequal or empty sets.
    """
    first = _first_translations(sources, translations)
    return len(set(first.values())) / len(first)


def find_collapse(sources: Sequence[str], translations: Sequence[str]) -> Finding | None:
    """E901 where fewer than one in five of the first `NUM_PROBES` different sentences is translated differently.

    With fewer than six different sentences nothing is ever found: one translation for all of them is one in five.
    """
    first = list(_first_translations(sources, translations).values())[:NUM_PROBES]
    counted = Counter(first)
    if len(counted) >= LEAST_DISTINCT * len(first):
        return None
    commonest, times = counted.most_common(1)[0]
    return COLLAPSED_OUTPUTS.found(
        f"{len(first)} different sentences have only {len(counted)} different translations (bound: one in "
        f"five); {times} of them became {_shortened(commonest)}"
    )


def find_repetition(translations: Sequence[str], references: Sequence[str]) -> Finding | None:
    """E903 where translations repeat themselves far more than their references do, and not in a line or two only.

    Words are what white space separates, so that nothing is found in a language which writes without it.
    """
    share, usual = repeated_4grams(translations), repeated_4grams(references)
    loops = [line for line in translations if repeated_4grams([line]) > LOOP]
    bound = max(MOST_REPEATED, MORE_THAN_REFERENCES * usual)
    fewest = max(FEWEST_LOOPS, math.ceil(MOST_LOOPS * len(translations)))
    if share <= bound or len(loops) < fewest:
        return None
    return TRANSLATIONS_REPEAT_THEMSELVES.found(
        f"{share:.1%} of the 4-grams of the translations repeat one earlier in the line (references: "
        f"{usual:.1%}; bound {bound:.0%}), and {len(loops)} of {len(translations)} lines loop (bound "
        f"{fewest}), such as {_shortened(loops[0])}"
    )


def _first_translations(sources: Sequence[str], translations: Sequence[str]) -> dict[str, str]:
    if len(sources) != len(translations):
        raise input_error(
            "translations: not as many lines as sources",
            got=f"{len(sources)} sources and {len(translations)} translations",
            allowed="one translation for each line",
        )
    if not sources:
        raise input_error("sources: the set is empty", got="0 lines", allowed="at least one line")
    first: dict[str, str] = {}
    for source, translation in zip(sources, translations, strict=True):
        first.setdefault(source, translation)
    return first


def _shortened(text: str, *, longest: int = 60) -> str:
    if not text.strip():
        return "an empty line"
    return repr(text if len(text) <= longest else text[: longest - 1] + "…")
