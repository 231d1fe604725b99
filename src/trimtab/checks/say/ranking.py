"""How well each page answers a question: by its phrases, which are symptoms in people's words, and by its body."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Final, Generic, TypeVar

from trimtab.checks.say.words import Words, words_of

T = TypeVar("T")
_NOT: Final = "!"
"""Before a word that is denied."""
DENIED: Final = 0.35
"""What a word counts that one of the two denies and the other does not."""
BODY: Final = 0.75
"""What the body counts beside the phrases."""
INSIDE: Final = 0.9
"""What a phrase counts that is in the question whole, with other words around it."""


class Page(Generic[T]):
    """One thing that may be the answer, with its words as one text: a line for each phrase, the last line for the body.
    The text becomes words only where a question has one of them."""

    def __init__(self, thing: T, text: str) -> None:
        self.thing, self.text = thing, text

    def may_have(self, words: Iterable[str]) -> bool:
        """Whether the text has one of the words, perhaps inside another."""
        return any(word in self.text for word in words)

    @cached_property
    def lines(self) -> tuple[Words, ...]:
        """The words of each phrase, and of the body."""
        return tuple(
            {word.removeprefix(_NOT): word.startswith(_NOT) for word in line.split()}
            for line in self.text.split("\n")
        )

    @property
    def phrases(self) -> tuple[Words, ...]:
        """The words of each phrase."""
        return self.lines[:-1]

    @property
    def body(self) -> Words:
        """The words of the body."""
        return self.lines[-1]


def page_text(phrases: Iterable[str], body: str) -> str:
    """The text of a page."""
    return "\n".join(
        " ".join(f"{_NOT if is_denied else ''}{word}" for word, is_denied in words_of(text).items())
        for text in (*phrases, body)
    )


def weights_of(texts: Sequence[str]) -> dict[str, float]:
    """The weight of each word: a rare one says more."""
    counted = Counter(word for text in texts for word in {word.removeprefix(_NOT) for word in text.split()})
    return {word: math.log(1 + len(texts) / count) for word, count in counted.items()}


class Index(Generic[T]):
    """Pages with the weights of their words."""

    def __init__(self, pages: Iterable[tuple[T, str]], weights: Mapping[str, float]) -> None:
        self.pages = [Page(thing, text) for thing, text in pages]
        self.weights = weights

    def known(self, question: Words) -> Words:
        """The words of a question that any page has."""
        return {word: is_denied for word, is_denied in question.items() if word in self.weights}

    def ranked(self, question: Words) -> list[tuple[float, T]]:
        """Every page with its score, from 0 to about 1.7, the best first; what the question has beside known words does
        not count."""
        asked = self.known(question)
        scores = [(self.score(asked, page), page.thing) for page in self.pages]
        return sorted(scores, key=lambda pair: -round(pair[0], 6))

    def score(self, asked: Words, page: Page[T]) -> float:
        """How well one page answers."""
        if not asked or not page.may_have(asked):
            return 0.0
        best = max((self._phrase(asked, phrase) for phrase in page.phrases), default=0.0)
        return best + BODY * self._shared(asked, page.body) / self._mass(asked)

    def _phrase(self, asked: Words, phrase: Words) -> float:
        if not phrase:
            return 0.0
        shared = math.fsum(
            self.weights[word] ** 2 * (1.0 if asked[word] == is_denied else DENIED)
            for word, is_denied in phrase.items()
            if word in asked
        )
        if not shared:
            return 0.0
        square, own = self._square(asked), self._square(phrase)
        cosine = shared / math.sqrt(square * own)
        return max(
            cosine, INSIDE * (shared / own) * min(1.0, len(phrase) / 3) ** 0.5 * (shared / square) ** 0.25
        )

    def _shared(self, asked: Words, body: Words) -> float:
        shared = (word for word in asked if word in body)
        return math.fsum(self.weights[word] * (1.0 if asked[word] == body[word] else 0.8) for word in shared)

    def _mass(self, words: Words) -> float:
        return math.fsum(self.weights.get(word, 0.0) for word in words)

    def _square(self, words: Words) -> float:
        return math.fsum(self.weights.get(word, 0.0) ** 2 for word in words)
