"""The linear maps in the layers of a module of transformers, by the names that PEFT's users give those of Llama."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from torch import nn

from trimtab.config.adapter import Target
from trimtab.config.pretrained.map_names import ENDINGS, target_of


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
