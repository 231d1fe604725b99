"""The linear maps in the layers of a module of transformers, by the names that PEFT's users give those of Llama."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from torch import nn

from trimtab.config.adapter import Target

ENDINGS: Mapping[str, Target] = {
    "q_proj": "q_proj", "q": "q_proj", "query": "q_proj", "q_lin": "q_proj",
    "k_proj": "k_proj", "k": "k_proj", "key": "k_proj", "k_lin": "k_proj",
    "v_proj": "v_proj", "v": "v_proj", "value": "v_proj", "v_lin": "v_proj",
    "out_proj": "o_proj", "o": "o_proj", "attention.output.dense": "o_proj", "out_lin": "o_proj",
    "wi_0": "gate_proj",
    "fc1": "up_proj", "wi": "up_proj", "wi_1": "up_proj", "intermediate.dense": "up_proj", "lin1": "up_proj",
    "fc2": "down_proj", "wo": "down_proj", "output.dense": "down_proj", "lin2": "down_proj",
    "o_proj": "o_proj", "gate_proj": "gate_proj", "up_proj": "up_proj", "down_proj": "down_proj",
    "c_attn": "q_proj", "qkv_proj": "q_proj", "query_key_value": "q_proj", "gate_up_proj": "gate_proj",
    "attn.c_proj": "o_proj", "attention.dense": "o_proj", "self_attn.dense": "o_proj",
    "c_fc": "up_proj", "dense_h_to_4h": "up_proj", "mlp.c_proj": "down_proj", "dense_4h_to_h": "down_proj",
}  # fmt: skip
"""How the names of linear maps end in Marian, Pegasus, BART, M2M100 and OPT, in T5, in BERT and RoBERTa, in DistilBERT,
in Gemma, SmolLM3 and OLMo 2, and in GPT-2, Phi, GPT-NeoX and StarCoder2; the longest ending that fits is meant. Where
one map is several of Llama's, it goes by the first of their names."""


class LinearMap(NamedTuple):
    """A linear map of a layer."""

    path: str
    """Its name in the module of transformers."""
    owner: nn.Module
    attribute: str
    """Its name in the owner."""
    name: Target


def linear_maps(network: nn.Module, blocks: Iterable[nn.Module]) -> Iterator[LinearMap]:
    """Every linear map of the layers, in their order; what is no attention or feed-forward block has none."""
    paths = {id(module): name for name, module in network.named_modules()}
    for block in blocks:
        for inner, module in block.named_modules():
            if not isinstance(module, nn.Linear) or (name := target_of(inner)) is None:
                continue
            parent, _, attribute = inner.rpartition(".")
            yield LinearMap(f"{paths[id(block)]}.{inner}", block.get_submodule(parent), attribute, name)


def target_of(path: str) -> Target | None:
    """What a linear map is, by its name in a layer; None where no family has such a one."""
    found = [ending for ending in ENDINGS if path == ending or path.endswith(f".{ending}")]
    return ENDINGS[max(found, key=len)] if found else None


def shortest_names(network: nn.Module, chosen: Iterable[str]) -> list[str]:
    """What PEFT's `target_modules` says of maps: the endings of their names where no other linear map ends so, else
    the whole names."""
    wanted = {*chosen}
    endings = {
        max((each for each in ENDINGS if path.endswith(f".{each}")), key=len, default=path) for path in wanted
    }
    meant = {
        name
        for name, module in network.named_modules()
        if isinstance(module, nn.Linear) and any(name.endswith(f".{ending}") for ending in endings)
    }
    # The thin matrices of an adapter are linear maps below those that they belong to.
    meant = {name for name in meant if ".lora_" not in name and not name.endswith(".four_bit")}
    return sorted(endings if meant == wanted else wanted)


def kept_wide(network: Any) -> frozenset[str]:
    """Names of maps that transformers never packs in 4 bits, such as `wo` of T5, whose numbers are large."""
    return frozenset(getattr(network, "_keep_in_fp32_modules", None) or ())
