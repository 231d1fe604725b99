"""Streams the text of tokens that arrive one by one: each part as soon as no later token can change it."""

from collections.abc import Sequence

from trimtab.types import Tokenizer

BROKEN = "\N{REPLACEMENT CHARACTER}"
"""What tokenizers give for bytes that are no whole character (yet)."""
LONGEST_PART = 3
"""Bytes of a character that has one byte still to come, at most."""


class IncrementalDetokenizer:
    """What follows a prompt; a character that is spelled in bytes comes out with its last byte."""

    def __init__(self, tokenizer: Tokenizer, prompt: Sequence[int]) -> None:
        self.tokenizer = tokenizer
        self.ids = list(prompt)
        self.given = self.text()
        """What was given out so far, the text of the prompt included."""

    def add(self, id: int) -> str:
        """What of the text is new and certain with one symbol more."""
        self.ids.append(id)
        text = self.text()
        broken = len(text) - len(text.rstrip(BROKEN))
        return self._more(text[: len(text) - min(broken, LONGEST_PART)])

    def rest(self) -> str:
        """What was held back, at the end; a character that was never finished stands for itself."""
        text = self.text()
        pairs = enumerate(zip(text, self.given, strict=False))
        same = next((place for place, (one, other) in pairs if one != other), min(len(text), len(self.given)))
        return text[same:]

    def text(self) -> str:
        """The text of the prompt and of all that followed."""
        return self.tokenizer.decode([self.ids])[0]

    def _more(self, text: str) -> str:
        if not text.startswith(self.given):
            return ""
        new, self.given = text[len(self.given) :], text
        return new
