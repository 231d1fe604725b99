"""Adds a glossary, from a file or a mapping, to the way a model translates."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from trimtab.data.compressed import unpacked
from trimtab.data.input_file import open_input
from trimtab.decode.glossary import Glossary, checked_glossary, read_glossary
from trimtab.decode.reading import read_lines
from trimtab.decode.setup import TranslationSetup
from trimtab.decode.terminology import Terminology, spell_glossary
from trimtab.errors import InputError, input_error

GlossaryLike = str | Path | Mapping[str, str | Sequence[str]] | Glossary
"""A file of lines `source<TAB>target`, a mapping from terms to one target or several, or a glossary that was opened."""


def open_glossary(given: GlossaryLike) -> Glossary:
    """The glossary in a file or a mapping. Raises InputError for a file that cannot be read, with all lines of it that
    are wrong, and for what holds no terms."""
    if isinstance(given, Glossary):
        return given
    if isinstance(given, Mapping):
        return checked_glossary(given)
    path = Path(given)
    with open_input(path) as file:
        return read_glossary(read_lines(unpacked(file, path=path), name=str(path)), name=str(path))


def with_glossary(
    setup: TranslationSetup,
    given: GlossaryLike | None,
    *,
    prefixes: object = None,
    known: tuple[Glossary, Terminology] | None = None,
) -> TranslationSetup:
    """The setup whose translations have the terms of the glossary; as it is without one. `known` is a glossary that was
    opened before, in the ids of this vocabulary, which is taken where it is given again.

    Raises InputError as `open_glossary`, for terms that the vocabulary cannot spell, and together with samples or
    forced prefixes.
    """
    if given is None:
        return setup
    if setup.search.sampling is not None:
        raise _excludes("samples are drawn, not searched for", got="a glossary and sampling")
    if prefixes is not None:
        raise _excludes(
            "a forced prefix leaves no choice of where terms are placed", got="a glossary and prefixes"
        )
    if known is not None and known[0] is given:
        return replace(setup, terminology=known[1])
    glossary = open_glossary(given).rewritten(setup.normalise_text)
    return replace(setup, terminology=spell_glossary(glossary, setup.tokenizer, setup.spell_target))


def _excludes(why: str, *, got: str) -> InputError:
    return input_error(
        f"glossary: {why}",
        got=got,
        allowed="a glossary with greedy or beam search",
        fix="leave one of them out",
    )
