"""Replaces what must be copied by symbols of the vocabulary, so that a model learns where it goes and not what it is.

`Open %s at https://a.b/c` is `Open <ph0> at <ph1>` to the model. Text that is spelled like a symbol is replaced by one
too, so that what a user wrote is never taken for what was put in.
Source: placeholders as in the normalisation of named entities for translation (Crego et al. 2016, arXiv 1610.05540,
section 3.2), with one number for each different text.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from trimtab.config.reserved import PROTECTED
from trimtab.config.transforms import ProtectTransform
from trimtab.data.transforms.patterns import pattern_of, symbol_pattern

REASON = "protect"
"""A pair is dropped for this where only one side has text that is spelled like a symbol."""


@dataclass(frozen=True, slots=True)
class Protected:
    """A text with symbols in it, and what each stands for: `<ph0>` for the first of the values."""

    text: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Protector:
    """Finds what is copied and puts symbols in its place."""

    pattern: re.Pattern[str]
    symbol: re.Pattern[str]
    """Text that is spelled like one of the symbols."""
    num_symbols: int

    def protect(self, text: str) -> Protected:
        """The text as the model reads it: the first values in it become symbols, as many as there are symbols."""
        return self._replaced(text, self._chosen(self._values(text)))

    def protect_pair(self, source: str, target: str) -> tuple[str, str] | None:
        """Both sides with symbols for what is on both; None if a symbol's spelling is on one alone."""
        here, there = self._values(source), self._values(target)
        if not here and not there:
            return source, target
        if any(self.symbol.fullmatch(value) for value in here.keys() ^ there.keys()):
            return None
        chosen = self._chosen(value for value in here if value in there)
        return self._replaced(source, chosen).text, self._replaced(target, chosen).text

    def protect_reference(self, source: str, target: str) -> str:
        """A target with symbols for what `protect` takes out of the source."""
        return self._replaced(target, self.protect(source).values).text

    def values(self, text: str) -> list[str]:
        """Everything in a text that would be copied, in order."""
        return [found.group() for found in self.pattern.finditer(text) if found.group()]

    def _values(self, text: str) -> dict[str, None]:
        return dict.fromkeys(self.values(text))

    def _chosen(self, values: Iterable[str]) -> tuple[str, ...]:
        """The first ones; those that are spelled like a symbol come before others, since they cannot stay."""
        found = list(values)
        if len(found) > self.num_symbols:
            spelled = [value for value in found if self.symbol.fullmatch(value)]
            others = [value for value in found if not self.symbol.fullmatch(value)]
            kept = {*spelled, *others[: self.num_symbols - len(spelled)]}
            found = [value for value in found if value in kept]
        return tuple(found)

    def _replaced(self, text: str, values: tuple[str, ...]) -> Protected:
        number = {value: PROTECTED.format(place) for place, value in enumerate(values)}
        return Protected(
            self.pattern.sub(lambda found: number.get(found.group(), found.group()), text), values
        )


def protector_of(config: ProtectTransform) -> Protector:
    """The protector of a recipe's transform."""
    return Protector(
        pattern_of(config.patterns, config.expressions, symbols=config.symbols),
        symbol_pattern(config.symbols),
        config.symbols,
    )
