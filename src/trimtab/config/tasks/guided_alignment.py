"""Alignments to learn from, and the loss that learns them: each needs the other, and words that stay as they are."""

from collections.abc import Iterator

from trimtab.config.complaint import Complaint
from trimtab.config.run import Recipe

KEY = "loss.guided_alignment"
CHANGES_WORDS = {
    "context": "puts other sentences before the words",
    "denoise": "leaves words out and moves them",
    "protect": "puts symbols in the place of words",
}
"""Transforms after which the words of a file are not those of the model, by their kind."""


def alignment_contradictions(recipe: Recipe) -> Iterator[Complaint]:
    """What keeps alignments from being learned, or a file of them from being used."""
    guided = recipe.loss.guided_alignment
    aligned = [number for number, each in enumerate(recipe.data.train) if each.alignments is not None]
    if guided is None:
        for number in aligned:
            yield Complaint(
                path=f"data.train.{number}.alignments",
                what="nothing learns these alignments",
                got=f"alignments, and no {KEY}",
                allowed="both or none of them",
                fix=f"set `{KEY}: {{weight: 0.1}}`, or leave the alignments out",
            )
        return
    if not recipe.facts.attends_to_source:
        yield Complaint(
            path=KEY,
            what="only a translator attends to a source, which is what aligns words",
            got=f"task {recipe.task}",
            allowed="task translation",
            fix=f"leave `{KEY}` out",
        )
        return
    if not aligned:
        yield Complaint(
            path=KEY,
            what="no corpus has alignments to learn from",
            got="no `alignments` in data.train",
            allowed="at least one corpus with a file of alignments",
            fix="align a corpus with fast_align or eflomal and name the file: "
            "`data.train: [{source: ..., target: ..., alignments: FILE}]`",
        )
    yield from _changed_words(recipe)
    yield from _place(recipe)


def _changed_words(recipe: Recipe) -> Iterator[Complaint]:
    for number, transform in enumerate(recipe.data.transforms):
        if (why := CHANGES_WORDS.get(transform.kind)) is not None:
            yield Complaint(
                path=f"data.transforms.{number}",
                what=f"the transform {transform.kind} {why}, so the alignments do not fit",
                got=f"{transform.kind}, with {KEY}",
                allowed="one of them",
                fix=f"leave out the transform or `{KEY}`",
            )


def _place(recipe: Recipe) -> Iterator[Complaint]:
    guided, (layers, heads) = recipe.loss.guided_alignment, recipe.model.cross_attention
    if guided is None or not layers:
        return
    for key, value, most in (("layer", guided.layer or 1, layers), ("head", guided.head, heads)):
        if value > most:
            yield Complaint(
                path=f"{KEY}.{key}",
                what=f"the decoder has no such {key}",
                got=str(value),
                allowed=f"1 to {most}",
                fix=f"leave `{KEY}.{key}` out for the usual one",
            )
