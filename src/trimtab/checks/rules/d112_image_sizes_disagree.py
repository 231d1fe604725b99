"""D112 image-sizes-disagree"""

from collections.abc import Iterator
from typing import Any, cast

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_PROCESSOR = (
    '{{"image_processor_type": "ViTImageProcessor", "do_resize": true,\n'
    ' "size": {{"height": {side}, "width": {side}}}}}'
)
_MODEL = (
    '{"model_type": "vit", "architectures": ["ViTForImageClassification"], "hidden_size": 768,\n'
    ' "image_size": 224, "patch_size": 16}'
)

RULE = Rule(
    code="D112",
    name="image-sizes-disagree",
    severity="warning",
    message="images are resized to {ours}, but the model beside this file was made for {theirs}",
    why="A plain vision transformer refuses images of another size than its table of positions was made for. "
    "Where the positions are interpolated, a model trained at one size and used at another sees objects at "
    "another scale.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/models/vit/modeling_vit.py",
            'Raises "Input image size (...) doesn\'t match model (...)" unless `interpolate_pos_encoding` '
            "is true.",
        ),
        Maintainer(
            "https://github.com/Peterande/D-FINE/issues/139",
            "Training and export resize in different ways (title only).",
            opened=False,
        ),
    ),
    fix=Fix("set `size` to {theirs}, or call the model with `interpolate_pos_encoding=True`"),
    bad=Example("preprocessor_config.json", _PROCESSOR.format(side=384), beside=(("config.json", _MODEL),)),
    good=Example("preprocessor_config.json", _PROCESSOR.format(side=224), beside=(("config.json", _MODEL),)),
    aliases=("IMG002",),
    tips=("S0-111",),
    symptoms=("Input image size doesn't match model", "good in training, bad in use"),
)
_PLAIN = frozenset({"vit", "deit", "beit", "trocr", "vision-encoder-decoder"})


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires for families whose positions are a table, where both files say a size."""
    size = run.setting("image_size")
    if size is None or run.kind != "image-processor":
        return
    for other in run.nearby:
        theirs = _size_of(other)
        if theirs is not None and theirs != size.value:
            yield RULE.at(size, ours=_text(size.value), theirs=_text(theirs))
            return


def _size_of(model: Description) -> list[int] | None:
    """[height, width] of the model's own table."""
    family = model.written("model_type")
    if family is None or str(family.value) not in _PLAIN:
        return None
    found = model.written("encoder.image_size") or model.written("image_size")
    value = found.value if found is not None else None
    if type(value) is int:
        return [value, value]
    sides = cast(list[Any], value) if isinstance(value, list) else []
    return sides if len(sides) == 2 and all(type(side) is int for side in sides) else None


def _text(sides: list[int]) -> str:
    return f"{sides[0]} x {sides[1]}"
