"""What is checked in an exported folder before transformers may see it.

A library that opens any model in any form has many doors: keys of `config.json` that name code or kernels on a hub,
indexes that name weights elsewhere, pickled weights, adapters. An export needs none of them, so only the keys and the
files that it writes itself are let through, with values that a translation model can have.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from trimtab.errors import InputError, Problem, input_error
from trimtab.export.hf.library import CONFIG, GENERATION, WEIGHTS, refuse_other_weights, weights_refused
from trimtab.export.plain_files import plain_file, read_object

CLASSES = {"pegasus": "PegasusForConditionalGeneration", "marian": "MarianMTModel"}
"""`model_type`, and the class that computes it."""
MOST_LAYERS = 200
ACTIVATIONS = ("relu", "gelu", "silu", "swish")


def check_files(folder: Path) -> dict[str, Any]:
    """The settings of the model in a folder; InputError if anything is not as an export writes it."""
    config = read_object(folder, CONFIG)
    _check_values(folder / CONFIG, config, _CONFIG)
    _check_class(folder / CONFIG, config)
    if (folder / GENERATION).exists():
        _check_values(folder / GENERATION, read_object(folder, GENERATION), _GENERATION)
    plain_file(folder, WEIGHTS)
    refuse_other_weights(folder)
    return config


def check_shapes(folder: Path, config: Mapping[str, Any], shapes: Mapping[str, list[int]]) -> None:
    """InputError if the weights are not of the sizes that `config.json` says, before a model of these sizes is
    made."""
    wide = config["d_model"]
    problems: list[str] = []
    for name, size in (
        ("model.encoder.embed_positions.weight", config["max_position_embeddings"]),
        ("model.decoder.embed_positions.weight", config["max_position_embeddings"]),
        ("model.encoder.layers.0.fc1.weight", config["encoder_ffn_dim"]),
        ("model.decoder.layers.0.fc1.weight", config["decoder_ffn_dim"]),
        *_embeddings(config),
    ):
        if name in shapes and shapes[name] != [size, wide]:
            problems.append(f"{name} of {shapes[name]} in place of {[size, wide]}")
    for side in ("encoder", "decoder"):
        found = {name.split(".")[3] for name in shapes if name.startswith(f"model.{side}.layers.")}
        if len(found) != config[f"{side}_layers"]:
            problems.append(f"{len(found)} {side} layers in place of {config[f'{side}_layers']}")
    if problems:
        raise weights_refused(folder, got=", ".join(problems[:5]), allowed=f"the sizes that {CONFIG} says")


def _embeddings(config: Mapping[str, Any]) -> list[tuple[str, int]]:
    source, target = config["vocab_size"], config.get("decoder_vocab_size") or config["vocab_size"]
    return [
        ("model.shared.weight", source),
        ("model.encoder.embed_tokens.weight", source),
        ("model.decoder.embed_tokens.weight", target),
        ("lm_head.weight", target),
    ]


def _check_class(path: Path, config: Mapping[str, Any]) -> None:
    missing = sorted(_NEEDED - config.keys())
    said = config.get("architectures")
    problems = [f"no {name}" for name in missing]
    if not missing:
        for side in ("encoder", "decoder"):
            if config["d_model"] % config[f"{side}_attention_heads"]:
                problems.append(f"d_model {config['d_model']} for {config[f'{side}_attention_heads']} heads")
        if said != [CLASSES[config["model_type"]]]:
            problems.append(f"architectures {said!r} for model_type {config['model_type']}")
        sizes = config["vocab_size"], config.get("decoder_vocab_size") or config["vocab_size"]
        ids = [config[each] for each in ("pad_token_id", "eos_token_id", "decoder_start_token_id")]
        if max(ids) >= min(sizes):
            problems.append(f"the symbol {max(ids)} in a vocabulary of {min(sizes)}")
    if problems:
        raise input_error(
            f"{path}: not the settings of an export",
            got=", ".join(problems)[:200],
            allowed=", ".join(f"{name} ({type})" for type, name in CLASSES.items()),
            fix="export the run again",
        )


def _check_values(path: Path, content: Mapping[str, Any], known: Mapping[str, "_Rule"]) -> None:
    problems: list[Problem] = []
    for key, value in content.items():
        allowed, fits = known.get(key, ("no such key: an export writes none", None))
        if fits is None or not fits(value):
            problems.append(
                Problem(
                    what=f"{path}: {key[:60]} is not as an export writes it",
                    got=repr(value)[:80],
                    allowed=allowed,
                    fix="export the run again",
                )
            )
    if problems:
        raise InputError(*problems[:5])


_Rule = tuple[str, Callable[[Any], bool]]


def _whole(least: int, most: int) -> _Rule:
    # True is an int.
    return (
        f"a whole number from {least} to {most:,}",
        lambda value: type(value) is int and least <= value <= most,
    )


def _number(least: float, most: float) -> _Rule:
    return (
        f"a number from {least} to {most}",
        lambda value: type(value) in (int, float) and least <= value <= most,
    )


def _one_of(*values: Any) -> _Rule:
    named = " or ".join("null" if each is None else str(each) for each in values)
    return named, lambda value: any(type(value) is type(each) and value == each for each in values)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and len(value) < 100


_SYMBOL, _SWITCH, _SHARE = _whole(0, 2**31 - 1), _one_of(True, False), _number(0.0, 1.0)
_TEXT: _Rule = ("a short text", _is_text)
_SIDES = ("encoder", "decoder")
_SHAPE: dict[str, _Rule] = {
    "d_model": _whole(1, 2**16),
    "vocab_size": _whole(1, 2**24),
    "max_position_embeddings": _whole(1, 2**20),
    **{f"{side}_layers": _whole(1, MOST_LAYERS) for side in _SIDES},
    **{f"{side}_attention_heads": _whole(1, 2**10) for side in _SIDES},
    **{f"{side}_ffn_dim": _whole(1, 2**18) for side in _SIDES},
    "pad_token_id": _SYMBOL,
    "eos_token_id": _SYMBOL,
    "decoder_start_token_id": _SYMBOL,
    "activation_function": _one_of(*ACTIVATIONS),
    "model_type": _one_of(*CLASSES),
}
_NEEDED = frozenset({*_SHAPE, "architectures"})
_CONFIG: dict[str, _Rule] = {
    **_SHAPE,
    "architectures": (
        "a list of one class",
        lambda value: isinstance(value, list) and all(map(_is_text, value)),
    ),
    "bos_token_id": _SYMBOL,
    "decoder_vocab_size": _whole(1, 2**24),
    "num_hidden_layers": _whole(1, MOST_LAYERS),
    **dict.fromkeys(
        ("dropout", "attention_dropout", "activation_dropout", "encoder_layerdrop", "decoder_layerdrop"),
        _SHARE,
    ),
    "init_std": _SHARE,
    **dict.fromkeys(
        ("scale_embedding", "tie_word_embeddings", "share_encoder_decoder_embeddings", "use_cache"), _SWITCH
    ),
    "is_encoder_decoder": _one_of(True),
    "is_decoder": _one_of(False),
    "forced_eos_token_id": _one_of(None),
    "dtype": _one_of("float32", None),
    "torch_dtype": _one_of("float32", None),
    "transformers_version": _TEXT,
}
_GENERATION: dict[str, _Rule] = {
    **dict.fromkeys(("pad_token_id", "bos_token_id", "eos_token_id", "decoder_start_token_id"), _SYMBOL),
    "forced_eos_token_id": _one_of(None),
    "num_beams": _whole(1, 64),
    "max_length": _whole(1, 2**20),
    "length_penalty": _number(-10.0, 10.0),
    "early_stopping": _one_of("never", True, False),
    "suppress_tokens": (
        "a list of symbols",
        lambda value: isinstance(value, list) and all(map(_SYMBOL[1], value)),
    ),
    "_from_model_config": _one_of(True, False),
    "transformers_version": _TEXT,
}
