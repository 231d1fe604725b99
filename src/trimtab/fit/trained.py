"""What of a shape is trained: all but what a recipe freezes, or an adapter beside frozen weights."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from trimtab.config.adapter import LoraAdapter
from trimtab.errors import input_error
from trimtab.fit.shape import Layer, Shape, Stack, Weights

TABLES = ("embedding", "output", "position")
OWNERS = {"qkv": "attention.", "out": "attention.", "up": "feed_forward.", "down": "feed_forward."}
"""Where a layer has the maps of `fused_maps` whose names do not say it."""


def with_frozen(shape: Shape, patterns: Sequence[str]) -> Shape:
    """The shape with the weights frozen whose names match a pattern, as `build.freeze` does. InputError for a pattern
    that matches none."""
    met: set[str] = set()
    weights: list[Weights] = []
    for each in shape.weights:
        matches = [{one for one in patterns if fnmatchcase(name, one)} for name in names_of(each)]
        met.update(*matches)
        count = sum(bool(found) for found in matches)
        weights += [replace(each, count=count, trained=False)] if count else []
        weights += [replace(each, count=each.count - count)] if count < each.count else []
    if unmet := [each for each in patterns if each not in met]:
        raise input_error(
            "freeze: no weight of the model has such a name",
            got=unmet[0],
            allowed=", ".join(name for each in shape.weights[:3] for name in names_of(each)[:1]) + ", ...",
            fix="write names of weights, or patterns such as `decoder.blocks.[0-3].*`",
        )
    return replace(shape, weights=tuple(weights))


def names_of(weights: Weights) -> list[str]:
    """The names that tensors of one shape have in trimtab's own models."""
    name = weights.name.replace(".shift", ".bias")
    if weights.part in TABLES:
        name += ".weight"
    return [name.replace("#", str(number)) for number in range(weights.count)]


def with_adapter(shape: Shape, adapter: LoraAdapter) -> Shape:
    """The shape with all weights frozen and the adapter's beside them; embeddings stay trained, and matrices of the
    layers are packed in 4 bits, where it says so."""
    more: list[Weights] = []
    stacks: list[Stack] = []
    for stack in shape.stacks:
        fused: list[tuple[str, int]] = []
        scaled = 0
        for name, inputs, parts in fused_maps(stack.layer):
            rows = [size for part, size in parts if part in adapter.names]
            if not rows:
                continue
            fused.append((name, adapter.rank * len(rows)))
            first = (adapter.rank * len(rows), inputs)
            more.append(Weights(f"{name}.lora_a", first, "adapter", stack.layers))
            more += [
                Weights(f"{name}.lora_b", (size, adapter.rank), "adapter", stack.layers) for size in rows
            ]
            if adapter.dora:
                scaled += sum(size for _, size in parts)
                more.append(Weights(f"{name}.magnitude", (sum(rows),), "vector", stack.layers))
        stacks.append(replace(stack, layer=replace(stack.layer, adapters=tuple(fused), scaled=scaled)))
    weights = [
        each if adapter.embeddings == "train" and each.part in TABLES else replace(each, trained=False)
        for each in shape.weights
    ]
    if adapter.quantize_base == "nf4":
        rows_of = dict(_rows_of_maps(shape))
        weights = [replace(each, packed_rows=rows_of.get(each.name, ())) for each in weights]
    return replace(shape, weights=(*weights, *more), stacks=tuple(stacks))


def _rows_of_maps(shape: Shape) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Each linear map of the layers by the name of its weights, and the rows of the maps that are fused in it."""
    for stack in shape.stacks:
        side = "encoder" if stack.reads_source else "decoder"
        for name, _, parts in fused_maps(stack.layer):
            yield f"{side}.blocks.#.{OWNERS.get(name, '')}{name}.weight", tuple(size for _, size in parts)


def fused_maps(layer: Layer) -> Iterator[tuple[str, int, tuple[tuple[str, int], ...]]]:
    """Each linear map of a layer: its name, its inputs, and the maps that are fused in it with their outputs."""
    dim, queries, keys = layer.dim, layer.query_width, layer.key_width
    yield "qkv", dim, (("q_proj", queries), ("k_proj", keys), ("v_proj", keys))
    yield "out", queries, (("o_proj", dim),)
    if layer.cross:
        yield "cross.q", dim, (("q_proj", queries),)
        yield "cross.kv", dim, (("k_proj", keys), ("v_proj", keys))
        yield "cross.out", queries, (("o_proj", dim),)
    inner = layer.feed_forward
    gate = (("gate_proj", inner), ("up_proj", inner)) if layer.gated else (("up_proj", inner),)
    yield "up", dim, gate
    yield "down", inner, (("down_proj", dim),)
