"""Whether a pair is in its two languages, as the library py3langid sees it: 139 languages, its model is in the package.

Source: langid.py (Lui and Baldwin 2012, ACL demo P12-3005), in the fork py3langid.
"""

from functools import lru_cache
from importlib import import_module
from importlib.metadata import version
from typing import Any

from trimtab.config.corpus_filters import LanguageFilter
from trimtab.config.languages import labels_of
from trimtab.errors import input_error

_NO_LANGUAGE = "zxx"
"""The label of numbers, markup and the like."""
_MOST_CHARACTERS = 256
"""So many are looked at: more say nothing new, and take longer."""


def is_in_another_language(
    source: str,
    target: str,
    *,
    languages: tuple[frozenset[str], frozenset[str]],
    certainty: float,
    min_characters: int,
) -> bool:
    """Whether a side is in none of its languages, with a probability above `certainty`.

    The probabilities of all other languages are added up: a Portuguese line that may also be Galician is not German.
    A side without languages is not judged, neither is one with fewer letters than `min_characters`, nor one that is no
    language at all.
    """
    return any(
        allowed and has_letters(text, min_characters) and 1 - _probability_of(allowed, text) > certainty
        for text, allowed in zip((source, target), languages, strict=True)
    )


def _probability_of(allowed: frozenset[str], text: str) -> float:
    """That the text is in one of these languages, or in no language at all."""
    ranked = _identifier().rank(text[:_MOST_CHARACTERS])
    if ranked[0][0] == _NO_LANGUAGE:
        return 1.0
    return float(sum(each for label, each in ranked if label in allowed or label == _NO_LANGUAGE))


def has_letters(text: str, least: int) -> bool:
    """Whether a text has so many letters."""
    return len(text) >= least and sum(map(str.isalpha, text)) >= least


def languages_of(config: LanguageFilter) -> tuple[frozenset[str], frozenset[str]]:
    """The labels of both sides' languages, none where a side is not judged.

    Raises InputError if the library is not installed or does not know them.
    """
    both = tuple(labels_of(code) if code else frozenset[str]() for code in (config.source, config.target))
    known = set(_identifier().labels)
    if unknown := sorted((both[0] | both[1]) - known):
        raise input_error(
            "data.transforms: languages that the installed py3langid does not know",
            got=", ".join(unknown),
            allowed=", ".join(sorted(known))[:300],
            fix="install the newest one: `pip install --upgrade py3langid`",
        )
    return both[0], both[1]


def identifies_by() -> str:
    """The library and its version, and how its probabilities are used: another one may see other languages."""
    return f"py3langid {version('py3langid')}, by the sum of the other languages"


@lru_cache(maxsize=1)
def _identifier() -> Any:
    try:
        library = import_module("py3langid.langid")
    except ImportError:
        raise input_error(
            "data.transforms: the library that tells languages apart is not installed",
            got="no module py3langid",
            allowed="the transform `language` with it",
            fix='pip install "trimtab[langid]"',
        ) from None
    return library.LanguageIdentifier.from_model_file(library.MODEL_FILE, norm_probs=True)
