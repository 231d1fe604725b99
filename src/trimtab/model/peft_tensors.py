"""The matrices of an adapter under the names that PEFT gives them in transformers' models, and back."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from trimtab.config.adapter import LoraAdapter
from trimtab.config.pretrained.map_names import target_of
from trimtab.errors import InputError, input_error
from trimtab.model.block import DecoderBlock, EncoderBlock
from trimtab.model.decoder_only import DecoderOnly
from trimtab.model.encoder_decoder import EncoderDecoder
from trimtab.model.lora import LoraLinear, adapted_maps
from trimtab.model.module.linear_maps import shortest_names
from trimtab.model.module.module_model import PREFIX as OF_NETWORK
from trimtab.model.module.module_model import ModuleModel

PREFIX = "base_model.model"
OF_MARIAN = {"o_proj": "out_proj", "up_proj": "fc1", "down_proj": "fc2"}
"""What MarianMT and Pegasus call the maps that have other names there."""
TO_NATIVE = {theirs: ours for ours, theirs in OF_MARIAN.items()}
TABLES = {"model.embed_tokens": "embedding", "lm_head": "output"}
"""Embeddings and output matrix of a language model, by their names in transformers."""
HEAD, EMBEDDINGS = f"{PREFIX}.lm_head.weight", f"{PREFIX}.model.embed_tokens.weight"
MOST_NAMED = 3


TakesAdapter = DecoderOnly | EncoderDecoder | ModuleModel
"""The models whose adapters have names in PEFT."""


def peft_tensors(model: TakesAdapter) -> Iterator[tuple[str, Tensor]]:
    """Every matrix of the adapter by its name in PEFT, as a view of the rows that hold it here; and the embeddings, or
    the head, where they are trained beside it."""
    match model:
        case ModuleModel():
            yield from _of_module(model)
        case DecoderOnly():
            yield from _of_decoder(model)
        case EncoderDecoder():
            for side, stack in (("encoder", model.encoder), ("decoder", model.decoder)):
                for number, block in enumerate(stack.blocks):
                    name = f"{PREFIX}.model.{side}.layers.{number}"
                    yield from _of_block(block, name, inner="", other=OF_MARIAN)


def _of_decoder(model: DecoderOnly) -> Iterator[tuple[str, Tensor]]:
    for number, block in enumerate(model.decoder.blocks):
        yield from _of_block(block, f"{PREFIX}.model.layers.{number}", inner="mlp.", other={})
    for theirs, ours in TABLES.items():
        table = getattr(model, ours)
        if table is not None and table.weight.requires_grad and f"{ours}.weight" not in model.frozen:
            yield f"{PREFIX}.{theirs}.weight", table.weight[: model.num_ids]


def _of_module(model: ModuleModel) -> Iterator[tuple[str, Tensor]]:
    """Maps of transformers' modules have the names that they have there."""
    for each in adapted_maps(model):
        path, (part,) = each.name.removeprefix(OF_NETWORK), each.linear.parts
        yield from _of_map(each.linear, f"{PREFIX}.", {part.name: path})
    for name in sorted(model.head_names):
        yield f"{PREFIX}.{name.removeprefix(OF_NETWORK)}", model.get_parameter(name)


def _of_block(
    block: nn.Module, name: str, *, inner: str, other: Mapping[str, str]
) -> Iterator[tuple[str, Tensor]]:
    assert isinstance(block, DecoderBlock | EncoderBlock)
    found = [("self_attn.", block.attention.qkv), ("self_attn.", block.attention.out)]
    if isinstance(block, DecoderBlock) and block.cross is not None:
        found += [("encoder_attn.", each) for each in (block.cross.q, block.cross.kv, block.cross.out)]
    found += [(inner, block.feed_forward.up), (inner, block.feed_forward.down)]
    for owner, linear in found:
        if isinstance(linear, LoraLinear):
            yield from _of_map(linear, f"{name}.{owner}", other)


def _of_map(linear: LoraLinear, owner: str, other: Mapping[str, str]) -> Iterator[tuple[str, Tensor]]:
    adapted = [part for part in linear.parts if part.adapted]
    first = linear.lora_a.weight.split(linear.rank)
    lengths = [None] * len(adapted)
    if linear.magnitude is not None:
        lengths = linear.magnitude.split([part.rows for part in adapted])
    for part, a, b, length in zip(adapted, first, linear.lora_b, lengths, strict=True):
        name = owner + other.get(part.name, part.name)
        yield f"{name}.lora_A.weight", a
        assert isinstance(b, torch.nn.Linear)
        yield f"{name}.lora_B.weight", b.weight
        if length is not None:
            yield f"{name}.lora_magnitude_vector", length


@torch.no_grad()
def take_peft_tensors(
    model: DecoderOnly | EncoderDecoder | ModuleModel,
    tensors: Mapping[str, Tensor],
    *,
    name: str,
    stay_tied: bool = True,
) -> None:
    """Fills the adapter of a model; InputError where matrices are missing, left over or of another shape.
    `stay_tied` says whether the embeddings that it trained are the output matrix too, where they are in the base."""
    wanted = dict(peft_tensors(model))
    tensors = {**tensors}
    if HEAD not in wanted and EMBEDDINGS in wanted and EMBEDDINGS in tensors:
        # PEFT saves a tied matrix under both of its names, and two that it has trained apart as well.
        head = tensors.pop(HEAD, tensors[EMBEDDINGS] if stay_tied else None)
        if head is None or not torch.equal(head, tensors[EMBEDDINGS]):
            raise _trained_apart(name)
    missing, left = sorted(wanted.keys() - tensors.keys()), sorted(tensors.keys() - wanted.keys())
    other = [key for key in wanted.keys() & tensors.keys() if wanted[key].shape != tensors[key].shape]
    told = {"missing": missing, "left over": left, "of another shape": sorted(other)}
    if any(told.values()):
        got = "; ".join(
            f"{len(each)} {what}: {', '.join(each[:MOST_NAMED])}" for what, each in told.items() if each
        )
        raise _unlike(name, got)
    for key, rows in wanted.items():
        if not tensors[key].is_floating_point():
            raise _unlike(name, f"{key} in {str(tensors[key].dtype).removeprefix('torch.')}")
        if not tensors[key].isfinite().all():
            raise _unlike(name, f"numbers that are not finite in {key}")
        rows.copy_(tensors[key])


def peft_settings(
    config: LoraAdapter, *, base: str, translates: bool = False, tied: bool = True
) -> dict[str, object]:
    """What `adapter_config.json` says of an adapter; `tied` is whether the base has one matrix for embeddings and
    output."""
    other = OF_MARIAN if translates else {}
    trained = ["embed_tokens"] if tied else ["embed_tokens", "lm_head"]
    return {
        "peft_type": "LORA",
        "task_type": "SEQ_2_SEQ_LM" if translates else "CAUSAL_LM",
        "base_model_name_or_path": base,
        "r": config.rank,
        "lora_alpha": config.alpha_used,
        "lora_dropout": 0.0,
        "use_rslora": config.rslora,
        "use_dora": config.dora,
        "target_modules": [other.get(name, name) for name in config.names],
        "bias": "none",
        "fan_in_fan_out": False,
        "modules_to_save": trained if config.embeddings == "train" else None,
        "ensure_weight_tying": tied and config.embeddings == "train",
        "rank_pattern": {},
        "alpha_pattern": {},
        "inference_mode": True,
        "init_lora_weights": True,
    }


def peft_settings_of_module(config: LoraAdapter, model: ModuleModel, *, base: str) -> dict[str, object]:
    """The same of an adapter on a module of transformers."""
    chosen = [each.name.removeprefix(OF_NETWORK) for each in adapted_maps(model)]
    head = sorted({_head_of(name) for name in model.head_names})
    return peft_settings(config, base=base) | {
        "task_type": "SEQ_CLS" if head else "SEQ_2_SEQ_LM" if model.config.has_encoder else "CAUSAL_LM",
        "fan_in_fan_out": bool(model.transposed),
        "target_modules": shortest_names(model.network, chosen),
        "modules_to_save": head or None,
    }


def _head_of(name: str) -> str:
    """`network.bert.pooler.dense.weight` is of the module `pooler`, and `network.classifier.weight` of `classifier`."""
    modules = name.removeprefix(OF_NETWORK).split(".")[:-1]
    return modules[1] if len(modules) > 1 and modules[1] == "pooler" else modules[0]


PLAIN = {
    "peft_type": ("LORA",),
    "bias": ("none",),
    "fan_in_fan_out": (False, None),
    "modules_to_save": (None, [], ["embed_tokens"], ["embed_tokens", "lm_head"]),
    "rank_pattern": ({}, None),
    "alpha_pattern": ({}, None),
    "layers_to_transform": (None,),
    "trainable_token_indices": (None,),
    "target_parameters": (None, []),
    "layers_pattern": (None, "", []),
    "alora_invocation_tokens": (None,),
    # Others, such as `pissa` and `loftq`, change the base, of which the adapter's file has nothing.
    "init_lora_weights": (True, False, None, "gaussian", "eva", "orthogonal"),
}
"""Settings of PEFT, and which values of them mean LoRA as it is here."""
DEFAULT_OF_PEFT = 8
"""Of `r` and of `lora_alpha`, as `LoraConfig` has them where a file leaves them out."""


def settings_of_peft(
    said: Mapping[str, object],
    *,
    name: str,
    tensors: Iterable[str] | None = None,
    native_tensors: Iterable[str] = (),
) -> LoraAdapter:
    """The adapter that an `adapter_config.json` describes; InputError with the first setting that is not LoRA or DoRA
    on linear maps of the layers. Of one on a module of transformers the names of its `tensors` say which maps it has,
    and whether a head. Of one on a model of trimtab's own, `native_tensors` say which maps, since PEFT writes them in
    many ways: last parts of names, whole names, an expression, or all-linear."""
    saved = said.get("modules_to_save")
    if isinstance(saved, list):  # where it ties matrices, PEFT writes the whole names of both as well
        said = {**said, "modules_to_save": sorted({str(each).rpartition(".")[2] for each in saved})}
    for key, allowed in PLAIN.items():
        if tensors is not None and key in ("modules_to_save", "fan_in_fan_out"):
            continue  # a tensor too many, too few or of another shape is found when they are taken
        if key in said and said[key] not in allowed:
            raise input_error(
                f"{name}: trimtab reads plain LoRA and DoRA alone",
                got=f"{key}: {str(said[key])[:80]}",
                allowed=f"{key}: {allowed[0]}",
                fix="merge it into its model with PEFT's merge_and_unload, and use that model",
            )
    targets: Any = said.get("target_modules")
    names = sorted(map(str, targets)) if isinstance(targets, list | tuple | set) else []
    native: tuple[object, ...] = tuple(TO_NATIVE.get(each, each) for each in names)
    if held := {key.split(".lora_")[0].rpartition(".")[2] for key in native_tensors if ".lora_" in key}:
        native = tuple(TO_NATIVE.get(each, each) for each in sorted(held))
    if tensors is not None:
        paths = {key.removeprefix(f"{PREFIX}.").split(".lora_")[0] for key in tensors if ".lora_" in key}
        native = tuple(sorted({str(target_of(path)) for path in paths}))
    try:
        return LoraAdapter.model_validate(
            {
                "rank": said.get("r", DEFAULT_OF_PEFT),
                "alpha": said.get("lora_alpha", DEFAULT_OF_PEFT) or 0.0,  # null is refused as 0 is
                "rslora": said.get("use_rslora") or False,
                "dora": said.get("use_dora") or False,
                "targets": native,
                "embeddings": "train" if tensors is None and said.get("modules_to_save") else "frozen",
            }
        )
    except ValueError as error:
        raise input_error(
            f"{name}: not an adapter that fits the layers of this model",
            got=f"r {said.get('r')}, lora_alpha {said.get('lora_alpha')}, target_modules {names or targets}"[
                :200
            ],
            allowed="linear maps of attention and feed-forward blocks, by their names",
            fix="merge it into its model with PEFT's merge_and_unload, and use that model",
        ) from error


def _trained_apart(name: str) -> InputError:
    return input_error(
        f"{name}: it trained embeddings and output matrix separately, and the model has one matrix for both",
        got="embed_tokens trained apart from lm_head",
        allowed="one matrix, as PEFT trains with `ensure_weight_tying=True`, or embeddings that are not trained",
        fix="train it again with `ensure_weight_tying=True` in LoraConfig, or with `adapter.embeddings: train` here",
    )


def _unlike(name: str, got: str) -> InputError:
    return input_error(
        f"{name}: not an adapter of this model",
        got=got,
        allowed="the matrices of each map that adapter_config.json names, in each layer",
        fix="use it with the model that it was trained on",
    )
