"""What must hold between the transform `context` and the rest of a recipe."""

from collections.abc import Iterator

from trimtab.config.complaint import Complaint
from trimtab.config.context import ContextTransform
from trimtab.config.run import Recipe


def document_contradictions(recipe: Recipe) -> Iterator[Complaint]:
    """A context without documents, two of them, one together with `protect`, or a separator that is a tag too."""
    data = recipe.data
    found = [place for place, each in enumerate(data.transforms) if isinstance(each, ContextTransform)]
    for place in found[1:]:
        yield Complaint(
            path=f"data.transforms.{place}", what="context is given twice", fix="leave one of them out"
        )
    for place in found[:1]:
        path = f"data.transforms.{place}"
        if all(corpus.documents is None for corpus in data.train):
            yield Complaint(
                path=path,
                what="a context, but no corpus has documents",
                allowed="at least one corpus with `documents: FILE.jsonl`",
                fix="give a corpus as documents, or leave the transform out",
            )
        if any(each.kind == "protect" for each in data.transforms):
            yield Complaint(
                path=path,
                what="context and protect do not go together: the symbols of one sentence would mean the texts of "
                "another",
                fix="leave one of them out",
            )
        yield from _separator(recipe, place)


def _separator(recipe: Recipe, place: int) -> Iterator[Complaint]:
    transform = recipe.data.transforms[place]
    assert isinstance(transform, ContextTransform)
    corpora = (*recipe.data.train, *recipe.data.valid.values())
    tags = {tag for corpus in corpora for tag in corpus.tags}
    tags |= {tag for corpus in recipe.data.train for tag in corpus.reverse_tags}
    if transform.separator in tags:
        yield Complaint(
            path=f"data.transforms.{place}.separator",
            what="the separator is a tag too",
            got=repr(transform.separator),
            fix="take another word for one of them",
        )
