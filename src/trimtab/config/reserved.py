"""Symbols of a vocabulary that mean something already: no tag is spelled like one of them."""

import re
from collections.abc import Iterator, Mapping

from trimtab.config.complaint import Complaint
from trimtab.config.context import ContextTransform
from trimtab.config.run import Recipe
from trimtab.config.transforms import DenoiseTransform, ProtectTransform

SEPARATOR = "<sep>"
"""What stands between source and target in a row of a language model; no text becomes it."""
MASK = "<mask>"
"""What replaces the words that were taken out of a corrupted source."""
PROTECTED = "<ph{}>"
"""What stands for a text that is copied, by its number in the line."""
SPECIAL: Mapping[str, str] = {
    "<pad>": "padding",
    "<unk>": "what has no piece",
    "<s>": "the start of a text",
    "</s>": "the end of a text",
}
_BYTE = re.compile(r"<0x[0-9A-F]{2}>")


def meaning_of(symbol: str) -> str | None:
    """What a symbol means in every vocabulary, or None."""
    return "a byte" if _BYTE.fullmatch(symbol) else SPECIAL.get(symbol)


def reserved_tags(recipe: Recipe) -> Iterator[Complaint]:
    """Tags of training corpora that the vocabulary of this recipe has for something else."""
    own = dict(_of_the_recipe(recipe))
    for number, corpus in enumerate(recipe.data.train):
        for key, tags in (("tags", corpus.tags), ("reverse_tags", corpus.reverse_tags)):
            for tag in tags:
                if (meaning := meaning_of(tag) or own.get(tag)) is not None:
                    yield Complaint(
                        path=f"data.train.{number}.{key}",
                        what=f"{tag} already has a meaning in the vocabulary: {meaning}",
                        got=tag,
                        allowed="a word of its own, such as <ui>",
                        fix="choose another word, also in validation sets and `--tag`",
                    )


def _of_the_recipe(recipe: Recipe) -> Iterator[tuple[str, str]]:
    if recipe.facts.one_row:
        yield SEPARATOR, "what stands between source and target"
    for transform in recipe.data.transforms:
        if isinstance(transform, ContextTransform):
            yield transform.separator, "what follows a sentence of the context"
        elif isinstance(transform, DenoiseTransform) and transform.masks:
            yield MASK, "what stands for words that denoise takes out"
        elif isinstance(transform, ProtectTransform):
            for number in range(transform.symbols):
                yield PROTECTED.format(number), "what stands for a text that protect keeps"
