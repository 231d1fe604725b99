"""The matrices of an adapter under the names that PEFT gives them in transformers' models, and back."""

from collections.abc import Iterator, Mapping

import torch
from torch import Tensor

from trimtab.config.adapter import LoraAdapter
from trimtab.errors import InputError, input_error
from trimtab.model.block import DecoderBlock
from trimtab.model.decoder_only import DecoderOnly
from trimtab.model.lora import LoraLinear

PREFIX = "base_model.model.model.layers"
MOST_NAMED = 3


def peft_tensors(model: DecoderOnly) -> Iterator[tuple[str, Tensor]]:
    """Every matrix of the adapter by its name in PEFT, as a view of the rows that hold it here."""
    for number, block in enumerate(model.decoder.blocks):
        assert isinstance(block, DecoderBlock)
        for owner, linear in (
            ("self_attn", block.attention.qkv),
            ("self_attn", block.attention.out),
            ("mlp", block.feed_forward.up),
            ("mlp", block.feed_forward.down),
        ):
            if isinstance(linear, LoraLinear):
                yield from _of_map(linear, f"{PREFIX}.{number}.{owner}")


def _of_map(linear: LoraLinear, name: str) -> Iterator[tuple[str, Tensor]]:
    adapted = [part for part in linear.parts if part.adapted]
    first = linear.lora_a.weight.split(linear.rank)
    for part, a, b in zip(adapted, first, linear.lora_b, strict=True):
        yield f"{name}.{part.name}.lora_A.weight", a
        assert isinstance(b, torch.nn.Linear)
        yield f"{name}.{part.name}.lora_B.weight", b.weight


@torch.no_grad()
def take_peft_tensors(model: DecoderOnly, tensors: Mapping[str, Tensor], *, name: str) -> None:
    """Fills the adapter of a model; InputError where matrices are missing, left over or of another shape."""
    wanted = dict(peft_tensors(model))
    missing, left = sorted(wanted.keys() - tensors.keys()), sorted(tensors.keys() - wanted.keys())
    other = [key for key in wanted.keys() & tensors.keys() if wanted[key].shape != tensors[key].shape]
    told = {"missing": missing, "left over": left, "of another shape": sorted(other)}
    if any(told.values()):
        got = "; ".join(
            f"{len(each)} {what}: {', '.join(each[:MOST_NAMED])}" for what, each in told.items() if each
        )
        raise _unlike(name, got)
    for key, rows in wanted.items():
        rows.copy_(tensors[key])


def peft_settings(config: LoraAdapter, *, base: str) -> dict[str, object]:
    """What `adapter_config.json` says of an adapter."""
    return {
        "peft_type": "LORA",
        "task_type": "CAUSAL_LM",
        "base_model_name_or_path": base,
        "r": config.rank,
        "lora_alpha": config.alpha_used,
        "lora_dropout": 0.0,
        "use_rslora": config.rslora,
        "use_dora": False,
        "target_modules": list(config.names),
        "bias": "none",
        "fan_in_fan_out": False,
        "modules_to_save": None,
        "rank_pattern": {},
        "alpha_pattern": {},
        "inference_mode": True,
        "init_lora_weights": True,
    }


PLAIN = {
    "peft_type": ("LORA",),
    "bias": ("none",),
    "use_dora": (False, None),
    "fan_in_fan_out": (False, None),
    "modules_to_save": (None, []),
    "rank_pattern": ({}, None),
    "alpha_pattern": ({}, None),
    "layers_to_transform": (None,),
    "trainable_token_indices": (None,),
    "target_parameters": (None, []),
}
"""Settings of PEFT, and which values of them mean plain LoRA."""


def settings_of_peft(said: Mapping[str, object], *, name: str) -> LoraAdapter:
    """The adapter that an `adapter_config.json` describes; InputError with the first setting that is not plain LoRA on
    linear maps of the layers."""
    for key, allowed in PLAIN.items():
        if key in said and said[key] not in allowed:
            raise input_error(
                f"{name}: trimtab reads plain LoRA alone",
                got=f"{key}: {str(said[key])[:80]}",
                allowed=f"{key}: {allowed[0]}",
                fix="merge it into its model with PEFT's merge_and_unload, and use that model",
            )
    targets = said.get("target_modules")
    names = sorted(map(str, targets)) if isinstance(targets, list | tuple | set) else []
    try:
        return LoraAdapter.model_validate(
            {
                "rank": said.get("r"),
                "alpha": said.get("lora_alpha"),
                "rslora": bool(said.get("use_rslora", False)),
                "targets": tuple(names),
            }
        )
    except ValueError as error:
        raise input_error(
            f"{name}: not an adapter that fits the layers of a language model",
            got=f"r {said.get('r')}, lora_alpha {said.get('lora_alpha')}, target_modules {names or targets}"[
                :200
            ],
            allowed="linear maps of attention and feed-forward blocks, by their names",
            fix="merge it into its model with PEFT's merge_and_unload, and use that model",
        ) from error


def _unlike(name: str, got: str) -> InputError:
    return input_error(
        f"{name}: not an adapter of this model",
        got=got,
        allowed="two matrices for each map that adapter_config.json names, in each layer",
        fix="use it with the model that it was trained on",
    )
