"""How much of a document a sentence is translated with."""

from typing import Literal

from pydantic import Field, model_validator

from trimtab.config.corpora import is_tag
from trimtab.config.settings import Settings, refused


class ContextTransform(Settings):
    """Puts preceding sentences of the same document before each sentence, as context for the model (Tiedemann and
    Scherrer 2017, arXiv 1708.05943). Only corpora given as `documents` have such sentences."""

    kind: Literal["context"] = "context"
    sentences: int = Field(default=2, ge=1, le=64)
    """Maximum number of sentences before the current one. If `max_tokens` is too small for all of them, the oldest are
    dropped; the current sentence is always complete."""
    sides: Literal["source", "both"] = "both"
    """Context on the source side only, or on both; a translation then continues from the model's own previous
    sentences."""
    loss: Literal["current", "all"] = "current"
    """What counts in the loss: the current sentence (a document is then translated sentence by sentence, doc2sent), or
    all of them (it is translated in chunks of `sentences` + 1 sentences, doc2doc)."""
    vary: bool = True
    """Give each example a random number of these sentences, 0 to `sentences`, so that the model also translates the
    first sentences of documents. With false, it gets as many as there are; evaluations during training, which read each
    sentence alone, then mean little. `trimtab evaluate --documents` reads in context."""
    separator: str = "<sep>"
    """The symbol after each sentence of the context, a piece of the vocabulary that no text can produce."""

    @model_validator(mode="after")
    def _consistent(self) -> "ContextTransform":
        if not is_tag(self.separator) or len(self.separator) < 2 or not self.separator.isprintable():
            raise refused(
                "separator",
                "separator: no text may hold it, so it is a word of its own and no ordinary character",
                got=repr(self.separator),
                allowed="two printable characters or more, without spaces",
                fix="write '<sep>'",
            )
        if self.loss == "all" and self.sides == "source":
            raise ValueError("loss: all needs the context sentences on both sides; write sides: both")
        return self
