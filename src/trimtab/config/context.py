"""How much of a document a sentence is translated with."""

from typing import Literal

from pydantic import Field, model_validator

from trimtab.config.corpora import is_tag
from trimtab.config.settings import Settings, refused


class ContextTransform(Settings):
    """Puts sentences of the same document before each sentence, which the model then reads along (Tiedemann and
    Scherrer 2017, arXiv 1708.05943). Only corpora given as `documents` have such neighbours."""

    kind: Literal["context"] = "context"
    sentences: int = Field(default=2, ge=1, le=64)
    """How many sentences before the current one, at most. Where `max_tokens` is too small for all of them, the oldest
    are left out; the current sentence is always whole."""
    sides: Literal["source", "both"] = "both"
    """Context on the source side alone, or on both; a translation then goes on from the model's own sentences."""
    loss: Literal["current", "all"] = "current"
    """What is learned: the current sentence (a document is then translated sentence by sentence, doc2sent), or all of
    them (it is translated in chunks of `sentences` + 1 sentences, doc2doc)."""
    vary: bool = True
    """Each example has a random number of these sentences, 0 to `sentences`, so that the model also translates the
    first sentences of documents. With false it has as many as there are, and evaluations while it trains, which read
    each sentence by itself, say little; `trimtab evaluate --documents` reads in context."""
    separator: str = "<sep>"
    """The symbol after each sentence of the context, a piece of the vocabulary that no text ever becomes."""

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
            raise ValueError(
                "loss: all sentences can only be learned where they stand on both sides; write sides: both"
            )
        return self
