"""Texts that end before the first of some strings, such as a line end or the name of the next speaker."""

from collections.abc import Sequence
from dataclasses import dataclass


def first_stop(text: str, stops: Sequence[str], *, start: int = 0) -> int | None:
    """Where the first of the strings begins in a text, from `start` on; None where none of them is in it."""
    places = [place for stop in stops if (place := text.find(stop, start)) >= 0]
    return min(places, default=None)


@dataclass(slots=True)
class UntilStop:
    """A text that grows part by part, up to the first stop string."""

    stops: tuple[str, ...]
    text: str = ""
    """What has come so far, without a stop string and what follows it."""
    given: int = 0
    """How many of its characters were handed out."""
    found: bool = False
    """Whether a stop string has come."""

    def add(self, part: str) -> str:
        """What of the text is new and certain with this part: what a stop string may begin with is held back."""
        if self.found:
            return ""
        self.text += part
        place = first_stop(self.text, self.stops, start=self.given)
        if place is not None:
            self.text, self.found = self.text[:place], True
        return self._hand_out(len(self.text) - (0 if self.found else self._held_back()))

    def rest(self) -> str:
        """What was held back, at the end of the text."""
        return self._hand_out(len(self.text))

    def _hand_out(self, stop: int) -> str:
        new, self.given = self.text[self.given : stop], max(self.given, stop)
        return new

    def _held_back(self) -> int:
        """The length of the longest end of the text that a stop string begins with."""
        tail = self.text[self.given :]
        longest = min(len(tail), max(map(len, self.stops), default=1) - 1)
        sizes = range(longest, 0, -1)
        return next((size for size in sizes if any(stop.startswith(tail[-size:]) for stop in self.stops)), 0)
