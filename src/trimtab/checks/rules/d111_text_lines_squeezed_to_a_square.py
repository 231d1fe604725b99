"""D111 text-lines-squeezed-to-a-square"""

from collections.abc import Iterator
from typing import Any, cast

from trimtab.checks.code_text import says
from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.own_key import calls_of, literal
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule
from trimtab.checks.training_script import trains

_JSON = (
    '{{"image_processor_type": "ViTImageProcessor", "processor_class": "TrOCRProcessor", "do_resize": true,\n'
    ' "size": {{"height": {height}, "width": {width}}}}}'
)
_NARROW = 2
"""Text lines are wider than this many times their height by far; from here on a shape is made for them."""
PUBLISHED = 384
"""Pixels of each side in the processors of microsoft/trocr-*."""
_FAMILIES = frozenset({"trocr", "vision-encoder-decoder"})

RULE = Rule(
    code="D111",
    name="text-lines-squeezed-to-a-square",
    severity="warning",
    message="every image is resized to {height} x {width}, whatever its shape, for a model that reads lines "
    "of text",
    why="A line of text is often 10 to 25 times as wide as it is high; squeezed into a square its letters "
    "become strokes a few pixels wide, and how thin depends on the length of the line. Models trained on "
    "much such data learn it anyway; small ones and small data do not. A wide shape, or a kept aspect "
    "ratio with padding to whole patches, avoids it.",
    evidence=(
        Maintainer(
            "https://github.com/microsoft/unilm/issues/1282",
            "'It resizes input image to square image of 384*384 which distorts the image a lot' for lines of "
            "ratio 5 to 6; the same question in issues 867, 674 and 1433.",
        ),
        Maintainer(
            "https://github.com/NielsRogge/Transformers-Tutorials/issues/124",
            "'the resizing makes the line images look very distorted'.",
        ),
        Arithmetic(
            "A line of 1,700 x 134 pixels in 384 x 384 is squeezed by 4.4 in width and stretched by 2.9 in "
            "height: letters are 13 times as narrow as they were."
        ),
    ),
    fix=Fix(
        "take a wide size such as 64 x 768 and call the model with `interpolate_pos_encoding=True`, or "
        "resize the longer side and pad the other to a multiple of the patch"
    ),
    bad=Example("preprocessor_config.json", _JSON.format(height=384, width=384)),
    good=Example("preprocessor_config.json", _JSON.format(height=64, width=768)),
    aliases=("IMG001",),
    tips=("S0-50", "S0-51", "S0-54", "S0-55"),
    symptoms=("character error rate stays high", "long lines are read wrongly", "OCR hallucinates"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where the processor belongs to a model that reads text: it says so, or the model is beside it."""
    size = run.setting("image_size")
    if size is not None and run.value("keep_aspect_ratio") is not True and _reads_text(run):
        sides: list[object] = size.value
        if len(sides) == 2 and _is_narrow(*sides):
            yield RULE.at(size, height=sides[0], width=sides[1])
    if "TrOCRProcessor" not in run.document.text:
        return
    if any("TrOCRProcessor" in (call.qualifier.rpartition(".")[2], call.name) for call in run.document.calls):
        yield from _of_script(run)


def _of_script(run: Description) -> Iterator[Diagnosis]:
    yield from _as_published(run)
    for call in calls_of(run, "ViTImageProcessor", "DeiTImageProcessor", "from_pretrained"):
        value = literal(call, "size")
        size: dict[Any, Any] = cast(dict[Any, Any], value) if isinstance(value, dict) else {}
        height, width = size.get("height"), size.get("width")
        if _is_narrow(height, width):
            yield RULE.at(call.arguments["size"].place, height=height, width=width)


def _as_published(run: Description) -> Iterator[Diagnosis]:
    """Microsoft's processors, of which every published one resizes to 384 x 384, in a script that trains with one."""
    if not trains(run) or says(run.document, ".size", "size=", "do_resize", "crop_size", "keep_aspect"):
        return
    for call in calls_of(run, "from_pretrained"):
        name = call.positional[0] if call.positional else None
        is_theirs = isinstance(name, str) and name.startswith("microsoft/trocr-")
        if is_theirs and call.qualifier.rpartition(".")[2] == "TrOCRProcessor" and not call.has_rest:
            yield RULE.at(call.place, severity="note", height=PUBLISHED, width=PUBLISHED)
            return


def _is_narrow(height: object, width: object) -> bool:
    return type(height) is int and type(width) is int and 0 < width < _NARROW * height


def _reads_text(run: Description) -> bool:
    made_for = run.written("processor_class")
    if made_for is not None and "TrOCR" in str(made_for.value):
        return True
    return any(
        other.value("model_family") in _FAMILIES or other.value("task") == "vision_text"
        for other in (run, *run.nearby)
    )
