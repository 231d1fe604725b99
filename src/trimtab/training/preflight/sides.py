"""The vocabularies of a run, each with the ids of its first examples and the name that findings give it."""

from collections.abc import Iterator
from dataclasses import dataclass

from trimtab.build import Parts
from trimtab.data.sentencepiece_model import SentencePiece
from trimtab.flow import Ragged


@dataclass(frozen=True, slots=True)
class Side:
    """What is read with one vocabulary."""

    name: str
    tokenizer: SentencePiece
    rows: Ragged
    """Ids of the first examples."""
    key: str
    """Where the recipe says what the tokenizer is."""
    in_pair: int
    """Which of the two texts of a pair is read with it."""


def sides_of(parts: Parts) -> Iterator[Side]:
    """Source and target; of a language model, whose rows hold both and whose documents have but one, all `text`."""
    sample, tokenizers, key = parts.sources.sample, parts.sources.tokenizers, "data.tokenizer"
    if parts.recipe.is_language_model:
        yield Side("text", tokenizers.target, sample.target, key, 1)
        return
    yield Side(
        "source", tokenizers.source, sample.source, key if tokenizers.shared else "data.source_tokenizer", 0
    )
    yield Side("target", tokenizers.target, sample.target, key, 1)
