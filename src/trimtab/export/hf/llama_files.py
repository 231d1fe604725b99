"""What is checked in the folder of a language model before transformers may see it.

What an export writes follows from its recipe and its vocabulary, so that nothing else is let through: no key that could
name code or other files, no size but those of the recipe, no tensor of another name or shape.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from trimtab.config.decoder_model import DecoderModel
from trimtab.errors import InputError, Problem
from trimtab.export.hf.library import (
    CONFIG,
    GENERATION,
    WEIGHTS,
    refuse_other_weights,
    weights_refused,
)
from trimtab.export.hf.llama_shape import class_name, generation, rope_scaling, shape, tensor_shapes
from trimtab.export.plain_files import plain_file, read_object
from trimtab.types import Tokenizer

_IS: dict[str, Callable[[Any], bool]] = {
    "transformers_version": lambda value: isinstance(value, str) and len(value) < 100,
    "initializer_range": lambda value: type(value) is float and 0 <= value <= 1,
    "use_cache": lambda value: type(value) is bool,
    "pretraining_tp": lambda value: value == 1,
    "dtype": lambda value: value in (None, "float32"),
    "torch_dtype": lambda value: value in (None, "float32"),
    "rope_scaling": lambda value: value is None,
    "sliding_window": lambda value: value is None,
    "use_sliding_window": lambda value: value is False,
    "max_window_layers": lambda value: type(value) is int,
    "layer_types": lambda value: isinstance(value, list) and set(value) <= {"full_attention"},
    "_from_model_config": lambda value: type(value) is bool,
    "max_length": lambda value: type(value) is int,  # of earlier exports, as the next one
    "max_new_tokens": lambda value: type(value) is int,
}
"""Keys that the library adds by itself, and which values of them change nothing."""


def check_llama_files(folder: Path, config: DecoderModel, tokenizer: Tokenizer, *, window: int) -> None:
    """InputError if settings or weights are not those that an export of this model writes."""
    name = class_name(config)
    rope = {"rope_theta": config.rope_theta, "rope_type": "default"}
    if config.rope_scaling is not None:
        rope |= rope_scaling(config.rope_scaling)
    settings = {
        **shape(config, tokenizer, window=window),
        "architectures": [name],
        "model_type": name.removesuffix("ForCausalLM").lower(),
        "rope_parameters": rope,
    }
    _check(folder / CONFIG, read_object(folder, CONFIG), settings, may_lack={"rope_parameters"})
    if (folder / GENERATION).exists():
        wanted = generation(tokenizer)
        _check(folder / GENERATION, read_object(folder, GENERATION), wanted, may_lack=set(wanted))
    plain_file(folder, WEIGHTS)
    refuse_other_weights(folder)


def check_llama_shapes(
    folder: Path, config: DecoderModel, shapes: Mapping[str, list[int]], *, num_ids: int
) -> None:
    """InputError if a tensor is missing, left over or of another shape, before a model of these sizes is made."""
    wanted = tensor_shapes(config, num_ids=num_ids)
    other = sorted(name for name in {*wanted, *shapes} if wanted.get(name) != shapes.get(name))
    if other:
        got = ", ".join(f"{name} {shapes.get(name, 'missing')}" for name in other[:3])
        raise weights_refused(
            folder,
            got=f"{len(other)} others: {got}",
            allowed="every tensor of the recipe's model and no other",
        )


def _check(path: Path, found: dict[str, Any], wanted: dict[str, Any], *, may_lack: set[str]) -> None:
    problems: list[Problem] = []
    for key in sorted({*found, *wanted}):
        if key in wanted:
            fits = (key in may_lack and key not in found) or _same(found.get(key), wanted[key])
        else:
            fits = key in _IS and _IS[key](found[key])
        if not fits:
            problems.append(
                Problem(
                    what=f"{path}: {key[:60]} is not as an export writes it",
                    got=repr(found[key])[:80] if key in found else "no such key",
                    allowed=repr(wanted[key])[:80] if key in wanted else "no such key: an export writes none",
                    fix="export the run again",
                )
            )
    if problems:
        raise InputError(*problems[:5])


def _same(found: Any, wanted: Any) -> bool:
    """True is 1 to Python, and not here."""
    return found == wanted and isinstance(found, bool) == isinstance(wanted, bool)
