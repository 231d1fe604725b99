"""Restores protected text in a translation, without losing or duplicating any of it."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import tee
from typing import TypeVar

from trimtab.config.reserved import PROTECTED
from trimtab.data.transforms.protect import Protected, Protector

_Out = TypeVar("_Out")
_SURROGATE = re.compile("[\ud800-\udfff]")
_LINE_BREAKS = re.compile("[\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029]")


@dataclass(slots=True)
class RestoreCounts:
    """What happened to the symbols of all lines so far."""

    restored: int = 0
    """Symbols in translations that had something to stand for."""
    missing: int = 0
    """Values of the sources that no symbol in the translation stood for."""
    surplus: int = 0
    """Symbols in translations that the source did not have, or not so often."""


@dataclass(frozen=True, slots=True)
class Restorer:
    """Knows what the source of each line looked like before it was protected."""

    protector: Protector
    protect: Callable[[str], Protected]
    """A line of input, through all transforms that belong to translation."""
    exact: bool
    """Whether each value is in the translation as often as in the source, whatever the model wrote."""
    counts: RestoreCounts = field(default_factory=RestoreCounts)

    def restored(self, line: str, translation: str) -> str:
        """The translation of an input line with the line's own values in it, and without line breaks."""
        source = self.protect(_SURROGATE.sub("\N{REPLACEMENT CHARACTER}", line))
        text = restore(translation, source, self.protector, exact=self.exact, counts=self.counts)
        return _LINE_BREAKS.sub(" ", text)

    def stream(
        self,
        lines: Iterable[str],
        translate: Callable[[Iterable[str]], Iterator[_Out]],
        restored: Callable[[str, _Out], _Out],
    ) -> Iterator[_Out]:
        """What `translate` makes of the lines, restored one by one; as many lines wait as it reads ahead."""
        given, kept = tee(lines)
        for out in translate(given):
            yield restored(next(kept), out)


def restore(
    translation: str,
    source: Protected,
    protector: Protector,
    *,
    exact: bool = False,
    counts: RestoreCounts | None = None,
) -> str:
    """The values in the place of their symbols; a symbol that stands for nothing is left out.

    With `exact` a value that the translation already has as often as the source is not put in again, and one
    that is missing is put at the end, after a space. `restore(p.text, p, ...)` is the text that `p` was made of.
    """
    counts = counts if counts is not None else RestoreCounts()
    meant = {PROTECTED.format(number): value for number, value in enumerate(source.values)}
    wanted = Counter(meant[symbol] for symbol in protector.symbol.findall(source.text))
    copied = Counter(protector.values(translation)) - Counter(protector.values(source.text))
    for symbol in meant:
        del copied[symbol]
    open_places = wanted - copied

    def value_of(found: re.Match[str]) -> str:
        value = meant.get(found[1])
        if value is not None and open_places[value] > 0:
            open_places[value] -= 1
            counts.restored += 1
            return found.group().replace(found[1], value)
        counts.surplus += 1
        return "" if exact or value is None else found.group().replace(found[1], value)

    # A symbol that is left out takes the space before it along.
    text = re.sub(rf" ?({protector.symbol.pattern})", value_of, translation)
    lost = list(open_places.elements())
    counts.missing += len(lost)
    return " ".join([text, *lost]) if exact and lost else text
