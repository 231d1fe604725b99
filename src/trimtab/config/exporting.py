"""What models may be exported for, and which keys of a recipe each of these cannot express."""

from collections.abc import Iterator
from typing import Any, Literal, assert_never

from trimtab.config.llama_export import llama_obstacles
from trimtab.config.positions import KINDS, NoPositions
from trimtab.config.transforms import Transform
from trimtab.errors import Problem

ExportTarget = Literal["hf", "ctranslate2", "onnx"]

PLAIN_ACTIVATIONS = ("relu", "gelu", "silu", "swish")
CHANGES_TEXT = {
    "normalize": "changes each line before the tokenizer does",
    "protect": "puts symbols into each line and takes them out of the translation",
    "context": "puts other sentences before each line",
}
"""Transforms that a translation needs, and what they do to it."""


def obstacles(target: ExportTarget, *, model: Any, transforms: tuple[Transform, ...]) -> list[Problem]:
    """A problem for each key that stands in the way of an export, with the values that could be exported.

    What only the vocabularies of a run can tell is not among them.
    """
    if model.kind == "decoder" and target == "hf":
        return list(llama_obstacles(model))
    if model.kind != "encoder_decoder":
        return [_only_translates(str(model.kind), target)]
    match target:
        case "hf":
            found = list(_of_hugging_face(model))
        case "ctranslate2" | "onnx":
            # CTranslate2 has every norm, activation and tie that a recipe can ask for.
            found = list(_of_biases(model, target))
        case _:
            assert_never(target)
    return [*found, *_of_transforms(transforms)]


def _of_hugging_face(model: Any) -> Iterator[Problem]:
    """Pegasus and MarianMT: see `export/hf_tiers.py`."""
    before = model.norm_position == "before"
    if model.norm != "layer":
        yield _refused("model.norm", model.norm, "layer", "hf")
    if model.activation not in PLAIN_ACTIVATIONS:
        yield _refused("model.activation", model.activation, ", ".join(PLAIN_ACTIVATIONS), "hf")
    if before and model.tie_embeddings != "all":
        yield _refused("model.tie_embeddings", model.tie_embeddings, "all, with norm_position: before", "hf")
    tables = tuple(each.kind for each in KINDS if each.adds_vectors and (before or not each.is_trained))
    hint = "" if before else ", with norm_position: after"
    if model.positions not in tables:
        yield _refused("model.positions", model.positions, " or ".join(tables) + hint, "hf")
    own = model.decoder_positions
    allowed = (*tables, NoPositions.kind) if before else tables
    if own is not None and own not in allowed:
        yield _refused("model.decoder_positions", str(own), " or ".join(allowed) + hint, "hf")


def _of_biases(model: Any, target: ExportTarget) -> Iterator[Problem]:
    """Positions that add something to the scores of attention, which the exported graphs have no place for."""
    without = ", ".join(each.kind for each in KINDS if not each.has_bias)
    for key, settings in zip(("positions", "decoder_positions"), model.all_position_settings, strict=True):
        if settings.has_bias:
            yield _refused(f"model.{key}", settings.kind, without, target)


def _of_transforms(transforms: tuple[Transform, ...]) -> Iterator[Problem]:
    for number, transform in enumerate(transforms):
        if transform.kind in CHANGES_TEXT:
            yield Problem(
                what=f"data.transforms.{number}: {CHANGES_TEXT[transform.kind]}, which an exported tokenizer cannot",
                got=f"kind: {transform.kind}",
                allowed="transforms that filter or spoil training pairs: length, ratio, character_run, denoise",
                fix="train without it; `data.tokenizer.normalization` normalises inside the tokenizer",
            )


def _only_translates(kind: str, target: ExportTarget) -> Problem:
    return Problem(
        what=f"model.kind: an export for {target} is of an encoder-decoder, not of a language model",
        got=kind,
        allowed="encoder_decoder; of a language model, an export for hf",
        fix=f"export it for hf instead of {target}: `--to hf`, or `export: [hf]` in the recipe",
    )


def _refused(key: str, got: str, allowed: str, target: ExportTarget) -> Problem:
    whose = "no class of transformers" if target == "hf" else f"no export for {target}"
    return Problem(
        what=f"{key}: {whose} computes this exactly",
        got=got,
        allowed=allowed,
        fix=f"train with another `{key}` to export for {target}",
    )
