"""What recipes of models of square images have in common: corpora of images, no texts, and the size of images."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from trimtab.config.complaint import Complaint
from trimtab.config.corpora import TrainCorpus, ValidFiles

if TYPE_CHECKING:
    from trimtab.config.run import Recipe

EXAMPLE = "{images: FOLDER}, {images: labels.tsv} or {images: labels.jsonl}"


def square_contradictions(recipe: "Recipe") -> Iterator[Complaint]:
    """Corpora, a tokenizer or transforms that are for another task, and images that are no squares."""
    for path, files in recipe.data.files_by_key.items():
        yield from _of_corpus(path, files, recipe.task)
    yield from _texts(recipe)
    images = recipe.data.images
    if images is None:
        yield Complaint(
            path="data.images",
            what=f"{recipe.task} cannot do without it",
            got="null",
            fix="leave it out to take the defaults, or set its keys",
        )
    elif images.fit in ("height", "stretch"):
        yield Complaint(
            path="data.images.fit",
            what="`height` keeps the width of each image, but this task trains on squares"
            if images.fit == "height"
            else "`stretch` is for pretrained recognizers",
            got=images.fit,
            allowed="crop or longest",
            fix="set `data.images.fit: crop`, or leave it out",
        )


def _of_corpus(path: str, files: TrainCorpus | ValidFiles, task: str) -> Iterator[Complaint]:
    if files.images is None:
        yield Complaint(
            path=path,
            what="no images",
            got=f"`{files.kind.key}`, with task {task}",
            allowed=EXAMPLE,
            fix="name a folder of images, whose subfolders are their classes, or a list of images with their labels",
        )
    if files.render is not None:
        yield Complaint(
            path=f"{path}.render", what="images are read and not rendered", got="render", fix="remove it"
        )
    if files.tags:
        yield Complaint(
            path=f"{path}.tags", what="images have no tags", got=" and ".join(files.tags), fix="remove them"
        )


def _texts(recipe: "Recipe") -> Iterator[Complaint]:
    data = recipe.data
    for key in ("tokenizer", "source_tokenizer", "charset"):
        if key in data.model_fields_set and getattr(data, key) is not None:
            yield Complaint(
                path=f"data.{key}",
                what="this task reads no text, and does not split labels",
                got=f"{key}, with task {recipe.task}",
                fix="remove it",
            )
    for place, transform in enumerate(data.transforms):
        yield Complaint(
            path=f"data.transforms.{place}",
            what="a transform of pairs of texts",
            got=f"{transform.kind}, with task {recipe.task}",
            fix="remove it",
        )
