"""The context of a sentence of a document when it is translated, as in training."""

from collections.abc import Sequence
from dataclasses import dataclass

from trimtab.decode.limits import target_limit


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentContext:
    """How a model was trained to read documents."""

    sentences: int
    """Sentences before the current one, at most; 0 for a model that reads each by itself."""
    both: bool
    """Whether a translation continues from those of the sentences before."""
    whole: bool
    """Whether it translates `sentences` + 1 sentences at once."""
    source_separator: int
    target_separator: int
    """Ids of what stands after each sentence of the context."""
    num_tags: int = 0
    """Ids at the very beginning of a source."""


ALONE = DocumentContext(sentences=0, both=False, whole=False, source_separator=-1, target_separator=-1)
"""Of a model that was trained on sentences."""


@dataclass(frozen=True, slots=True)
class Written:
    """A sentence that is translated already, in ids without tags and end symbol."""

    source: Sequence[int]
    target: Sequence[int]


def with_context(
    ids: Sequence[int], before: Sequence[Written], context: DocumentContext, *, max_tokens: int
) -> tuple[list[int], list[int]]:
    """The source row of a sentence behind its context, and the target ids that its translation continues from.

    `ids` are those of the sentence, tags and end symbol included. As many of the last sentences as fit: the sources
    into `max_tokens`, the targets into what is left of it beside a translation of the usual length.
    """
    capacity = max_tokens - len(ids)
    target_capacity = max_tokens - min(target_limit(len(ids), max_tokens=max_tokens), max_tokens // 2)
    count = 0
    # A sentence without a translation, or without anything in it, was never context in training.
    usable = [each for each in before[len(before) - context.sentences :] if each.source and each.target]
    for each in reversed(usable):
        capacity -= len(each.source) + 1
        target_capacity -= len(each.target) + 1
        if capacity < 0 or (context.both and target_capacity < 0):
            break
        count += 1
    chosen = usable[len(usable) - count :]
    source = [id for each in chosen for id in (*each.source, context.source_separator)]
    target = (
        [id for each in chosen for id in (*each.target, context.target_separator)] if context.both else []
    )
    tags = context.num_tags
    return [*ids[:tags], *source, *ids[tags:]], target
