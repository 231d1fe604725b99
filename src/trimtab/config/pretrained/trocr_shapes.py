"""What the files of a TrOCR folder say, as keys of `model`: config.json, generation_config.json and
preprocessor_config.json."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from trimtab.config.pretrained.module_shapes import (
    GENERATION,
    LARGEST,
    NOT_KEPT,
    OF_GENERATION,
    UNBOUNDED,
    not_trained,
)
from trimtab.config.pretrained.place import CONFIG, Place
from trimtab.config.pretrained.shapes import Found, read_settings
from trimtab.errors import InputError, Problem, input_error

PREPROCESSOR = "preprocessor_config.json"
PROCESSOR = "processor_config.json"
"""Where version 5 of transformers writes the same settings, as `image_processor`."""
PARTS = {"encoder": ("vit", "deit"), "decoder": ("trocr",)}
"""The kinds of encoder and decoder that are trained."""
FILTERS = ("nearest", "lanczos", "bilinear", "bicubic", "box", "hamming")
"""Of Pillow, by their numbers."""
OFTEN = {
    "do_resize": True,
    "do_rescale": True,
    "do_normalize": True,
    "do_center_crop": False,
    "do_pad": False,
}
"""What an image processor does, where it does what trimtab does."""


def decoder_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of the decoder, with the symbols that those of the whole model name otherwise."""
    inner = settings.get("decoder")
    told = {key: settings[key] for key in OF_GENERATION if settings.get(key) is not None}
    return {**(cast("dict[str, Any]", inner) if isinstance(inner, dict) else {}), **told}


def read_trocr(place: Place, settings: Mapping[str, Any]) -> Found:
    """The keys of `model` that the files of a folder give, and those of `data.images`. Raises InputError for another
    encoder or decoder, for settings that are missing or no sizes, and for an image processor that does anything that
    trimtab does not."""
    path = place.path / CONFIG
    encoder, decoder = (_part(settings, name, allowed, path) for name, allowed in PARTS.items())
    if problems := [*not_trained(settings, str(path))]:
        raise InputError(*problems)
    told = read_settings(place.path / GENERATION) if (place.path / GENERATION).is_file() else {}
    kept = {key: value for key, value in settings.items() if key not in NOT_KEPT}
    kept |= {key: told[key] for key in OF_GENERATION if told.get(key) is not None}
    sizes = _sizes(encoder, decoder, path)
    side, patch = sizes["encoder.image_size"], sizes["encoder.patch_size"]
    dropout = decoder.get("dropout", 0.1)
    shape: dict[str, Any] = {
        "family": settings["model_type"],
        "settings": json.dumps(kept, sort_keys=True, ensure_ascii=False),
        "dim": sizes["decoder.d_model"],
        "num_ids": sizes["decoder.vocab_size"],
        "num_source_ids": sizes["decoder.vocab_size"],
        "dropout": float(dropout) if isinstance(dropout, int | float) else 0.1,
        "tie_embeddings": decoder.get("tie_word_embeddings", True) is not False,
        "image_size": side,
        "patch": [patch, patch],
        **_processor(place, side),
    }
    images = {"fit": "stretch", "size": side, "channels": "rgb"}
    return Found(shape, min(sizes["decoder.max_position_embeddings"], UNBOUNDED), images)


def _part(settings: Mapping[str, Any], name: str, allowed: tuple[str, ...], path: Path) -> dict[str, Any]:
    """The settings of the encoder or the decoder."""
    part = settings.get(name)
    found = cast("dict[str, Any]", part) if isinstance(part, dict) else {}
    if found.get("model_type") not in allowed:
        raise input_error(
            f"{path}: trimtab does not train a VisionEncoderDecoderModel with this {name}",
            got=f"{name}: {found.get('model_type')}",
            allowed=" or ".join(allowed),
            fix="take a TrOCR model",
        )
    return found


def _sizes(encoder: Mapping[str, Any], decoder: Mapping[str, Any], path: Path) -> dict[str, int]:
    """The sizes of both, by the names of their settings."""
    side, patch = _side(encoder.get("image_size", 224)), _side(encoder.get("patch_size", 16))
    sizes = {
        "encoder.image_size": side,
        "encoder.patch_size": patch,
        "encoder.hidden_size": encoder.get("hidden_size", 768),
        "decoder.d_model": decoder.get("d_model", 1024),
        "decoder.vocab_size": decoder.get("vocab_size", 50265),
        "decoder.max_position_embeddings": decoder.get("max_position_embeddings", 512),
    }
    for name, value in sizes.items():
        if type(value) is not int or not 1 <= value <= LARGEST:
            raise input_error(
                f"{path}: {name} is no size, or not that of a square",
                got=str(value)[:80],
                allowed=f"a whole number from 1 to {LARGEST:,}",
                fix="download the file again",
            )
    if side % 16 or side > 4096 or side % patch:
        raise input_error(
            f"{path}: trimtab cannot train on images of this size",
            got=f"images of {side} pixels in patches of {patch}",
            allowed="a multiple of 16 and of the patches, up to 4,096 pixels",
            fix="take a model for such images",
        )
    return sizes


def _processor(place: Place, side: int) -> dict[str, Any]:
    """How the image processor of the folder treats an image that is resized to a square of `side` pixels."""
    path = place.path / PREPROCESSOR
    if path.is_file():
        told = read_settings(path)
    elif (path := place.path / PROCESSOR).is_file():
        inner = read_settings(path).get("image_processor")
        told = cast("dict[str, Any]", inner) if isinstance(inner, dict) else {}
    else:
        raise input_error(
            f"{place.path} does not say how images are prepared",
            got=f"neither {PREPROCESSOR} nor {PROCESSOR}",
            allowed="the files of the image processor that the model was trained with",
            fix="write them: `TrOCRProcessor.from_pretrained(NAME).save_pretrained(FOLDER)`",
        )
    if problems := [*_not_done(told, side, str(path))]:
        raise InputError(*problems)
    number = told.get("resample", 2)
    return {
        "resample": FILTERS[number],
        "rescale": float(told.get("rescale_factor", 1 / 255)),
        "image_mean": [float(each) for each in told.get("image_mean") or (0.5,) * 3],
        "image_std": [float(each) for each in told.get("image_std") or (0.5,) * 3],
    }


def _not_done(told: Mapping[str, Any], side: int, name: str) -> Iterator[Problem]:
    """A problem for each setting of an image processor that trimtab has nothing for, or that is none."""

    def problem(key: str, allowed: str, fix: str = "take the image processor of the model") -> Problem:
        return Problem(
            what=f"{name}: trimtab does not prepare images in this way",
            got=f"{key}: {str(told.get(key))[:80]}",
            allowed=allowed,
            fix=fix,
        )

    kind = str(told.get("image_processor_type") or told.get("feature_extractor_type"))
    given = {"do_center_crop": kind.startswith("DeiT"), **told}
    for key, usual in OFTEN.items():
        if given.get(key) is not None and given[key] is not usual:
            yield problem(key, str(usual).lower())
    size = told.get("size", 224)
    sides = cast("dict[str, Any]", size) if isinstance(size, dict) else {"height": size, "width": size}
    if sides != {"height": side, "width": side}:
        yield problem("size", f"height and width of {side}, the encoder's image_size in {CONFIG}")
    if type(told.get("resample", 2)) is not int or not 0 <= told.get("resample", 2) < len(FILTERS):
        yield problem("resample", "a filter of Pillow, 0 to 5: " + ", ".join(FILTERS))
    factor = told.get("rescale_factor", 1 / 255)
    if not _number(factor) or not 0 < factor <= 1:
        yield problem("rescale_factor", "a number above 0, at most 1")
    for key in ("image_mean", "image_std"):
        given: Any = told.get(key) or [0.5] * 3
        values = cast("list[Any]", given) if isinstance(given, list) else []
        least = 0 if key == "image_mean" else 1e-6
        if len(values) != 3 or not all(_number(each) and least <= each < 1e6 for each in values):
            yield problem(key, "three numbers, for red, green and blue")


def _number(value: Any) -> bool:
    return type(value) in (int, float)


def _side(value: Any) -> Any:
    """The side of a square that is written as one number or as two equal ones."""
    pair = cast("list[Any]", value) if isinstance(value, list) else []
    return pair[0] if len(pair) == 2 and pair[0] == pair[1] else cast("Any", value)
