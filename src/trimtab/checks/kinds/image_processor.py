"""`preprocessor_config.json` of an image processor: what becomes of an image's shape."""

from trimtab.checks.description import Description
from trimtab.checks.document import Document
from trimtab.checks.kinds.concept_map import Concepts, as_type, put
from trimtab.checks.kinds.kind import Kind, Surroundings
from trimtab.checks.kinds.nearby import nearby
from trimtab.checks.kinds.written import settings_of


def recognises(document: Document) -> bool:
    """An image processor's type, or its own names; nothing of a model or a run."""
    keys = document.entries
    if "model_type" in keys or "output_dir" in keys:
        return False
    return (
        "image_processor_type" in keys
        or "feature_extractor_type" in keys
        or {"do_resize", "size"} <= keys.keys()
    )


def describe(document: Document, surroundings: Surroundings) -> list[Description]:
    """One description: a height and a width stretch every image, one edge keeps its shape."""
    settings, concepts = settings_of(document.entries.values()), Concepts()
    switch, size = settings.get("do_resize"), settings.get("size")
    if switch is None or switch.value is not False:
        height, width = (settings.get(f"size.{side}") for side in ("height", "width"))
        if size is not None and (side := as_type(size.value, int)) is not None:
            put(concepts, "image_size", size, [side, side])
        elif height is not None and width is not None:
            sides = [as_type(height.value, int), as_type(width.value, int)]
            put(concepts, "image_size", size, sides if None not in sides else None)
        if "image_size" in concepts:
            put(concepts, "keep_aspect_ratio", size, False)
        elif "size.shortest_edge" in settings or "size.longest_edge" in settings:
            put(concepts, "keep_aspect_ratio", size, True)
    return [
        Description(
            tool="transformers",
            kind=KIND.name,
            document=document,
            keys={setting.key: setting for setting in settings.values()},
            concepts=concepts,
            versions=surroundings.versions,
            nearby=nearby(surroundings, "config.json"),
        )
    ]


KIND = Kind(
    name="image-processor",
    tool="transformers",
    title="preprocessor_config.json",
    syntaxes=frozenset({"json"}),
    recognises=recognises,
    describe=describe,
)
