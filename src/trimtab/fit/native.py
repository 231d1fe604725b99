"""The shapes of trimtab's own models, from a recipe; the numbers of their weights are exact."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from trimtab.config.decoder_model import DecoderModel
from trimtab.config.encoder_model import EncoderModel
from trimtab.config.freezing import patterns_of
from trimtab.config.model import EncoderDecoderModel
from trimtab.config.modular_model import ModularModel
from trimtab.config.positions import (
    Combined,
    InOneTable,
    PositionSettings,
    RotaryValues,
    parts_of,
)
from trimtab.config.run import POSITIONS_MULTIPLE, Model, Recipe
from trimtab.config.settings import Settings
from trimtab.errors import InputError, input_error
from trimtab.fit.shape import Layer, Shape, Stack, Weights
from trimtab.fit.trained import with_adapter, with_frozen
from trimtab.fit.vocabulary import LABELS, Vocabulary

ROWS = 64
"""Vocabularies are rounded up to a multiple of this."""
GATED = ("swiglu", "geglu")
SIZES = ("dim", "heads", "kv_heads", "head_size", "layers", "feed_forward")
OF_SIDES = tuple(f"{side}_{size}" for side in ("encoder", "decoder") for size in SIZES)
PARTS = ("dropout", "attention_dropout", "positions", "decoder_positions", "norm", "norm_position", "qk_norm")
MORE_PARTS = ("activation", "bias", "tie_embeddings", "residual", "embeddings")
ROUTES = ("encoder_components", "decoder_components", "directions", "mean_over")
ROTATION = ("rope_theta", "rope_scaling", "norm_epsilon", "prefix", "mup_base_dim", "absolute_fade")
ORIGIN = ("init_on", "warm_start", "warm_start_positions", "warm_start_sha256", "path", "sha256", "num_ids")
PLANNED = {"kind", "preset", *SIZES, *OF_SIDES, *PARTS, *MORE_PARTS, *ROUTES, *ROTATION, *ORIGIN}
"""Settings of models that a plan reads, or that change no memory; a new one is refused until it is here."""


def native_shape(recipe: Recipe, vocabulary: Vocabulary) -> Shape:
    """The shape of a recipe's model, its adapter included; what the recipe freezes is not trained."""
    shape = shape_of(recipe.model, vocabulary, max_tokens=recipe.max_positions)
    if recipe.adapter is not None:
        return with_adapter(shape, recipe.adapter)
    never = patterns_of(
        recipe.freeze
    )  # of weights that are trained later the planner counts what they need then
    return with_frozen(shape, never) if never else shape


def shape_of(model: Model, vocabulary: Vocabulary, *, max_tokens: int) -> Shape:
    """The shape of a model that reads at most `max_tokens` tokens of this vocabulary."""
    positions = rounded(max_tokens, POSITIONS_MULTIPLE)
    refuse_unplanned(model)
    match model:
        case ModularModel():
            return _modular(model, vocabulary, positions)
        case EncoderDecoderModel():
            return _encoder_decoder(model, vocabulary, positions)
        case DecoderModel():
            return _decoder(model, vocabulary, positions)
        case EncoderModel():
            return _classifier(model, vocabulary, positions)
        case _:
            raise not_planned(model)


def not_planned(model: Model) -> InputError:
    """The error for a kind of model whose layers the planner does not know."""
    what = (
        f"{model.pretrained_path} ({model.kind})" if model.pretrained_path else f"`model.kind: {model.kind}`"
    )
    return input_error(
        model.no_plan,
        got=what,
        allowed="the models of text that trimtab computes itself; of pretrained ones Llama, Mistral, Qwen2 and Qwen3",
        fix="start `trimtab train`: it tries the largest micro-batch first and says at once if it does not fit",
    )


def refuse_unplanned(model: Model) -> None:
    """Raises InputError for parts of layers whose memory was not measured: kinds that are named here, and every
    setting with another value than its default that is not in `PLANNED`."""
    match model:
        case EncoderDecoderModel() | DecoderModel() | EncoderModel():
            pass
        case _:
            return
    unplanned = (
        [f"norm_position: {model.norm_position}"] if model.norm_position in ("sandwich", "none") else []
    )
    unplanned += unplanned_settings(model, planned=PLANNED)
    for settings in model.all_position_settings:
        unplanned += [
            f"positions: {each.kind}"
            for each in parts_of(settings)
            if isinstance(each, RotaryValues) or (each.is_trained and not isinstance(each, InOneTable))
        ]
    if unplanned:
        raise input_error(
            "model: no memory plan, because the activations of these parts of a layer have not been measured",
            got=" and ".join(dict.fromkeys(unplanned)),
            allowed="other norms and positions, and the defaults of all other parts named here",
            fix="start `trimtab train`: it tries the largest micro-batch first and says at once if it does not fit",
        )


def unplanned_settings(settings: Settings, *, planned: Collection[str]) -> list[str]:
    """The settings with another value than their default that a plan does not read."""
    found = [
        (name, value)
        for name, setting in type(settings).model_fields.items()
        if name not in planned and (value := getattr(settings, name)) != setting.default
    ]
    return [f"{name}: true" if value is True else name for name, value in found]


def rounded(number: int, multiple: int = ROWS) -> int:
    """Up to the next multiple."""
    return -(-number // multiple) * multiple


def _decoder(model: DecoderModel, vocabulary: Vocabulary, positions: int) -> Shape:
    layer = Layer(
        dim=model.dim,
        heads=model.heads,
        kv_heads=model.kv_heads or model.heads,
        head_size=model.size_of_heads,
        feed_forward=model.feed_forward,
        gated=model.activation in GATED,
        activation=model.activation,
        norm=model.norm,
        norm_first=model.norm_position == "before",
        drops=model.dropout > 0,
        rotates=model.position_settings.rotates,
        qk_norm=model.qk_norm,
        keeps_half=model.residual == "half",
        biased=bool(model.bias),
    )
    rows = rounded(vocabulary.target)
    weights = [Weights("embedding", (rows, model.dim), "embedding")]
    if not model.tie_embeddings:
        weights.append(Weights("output", (rows, model.dim), "output"))
    trained, table = _positions(
        model.position_settings,
        positions,
        (model.dim, model.heads, model.size_of_heads),
        name="target_positions",
    )
    weights += [*trained, *_of_side("decoder", layer_weights(layer, model.layers, bias=model.bias))]
    if layer.norm_first:
        weights += norm_weights("decoder.norm", layer.norm, model.dim)
    return Shape(
        weights=tuple(weights),
        stacks=(Stack(layer, model.layers),),
        dim=model.dim,
        rows=rows,
        tied=model.tie_embeddings,
        final_norm=layer.norm_first,
        buffers=table,
        padded=model.needs_padding,
    )


def _encoder_decoder(model: EncoderDecoderModel, vocabulary: Vocabulary, positions: int) -> Shape:
    rows, source_rows = rounded(vocabulary.target), rounded(vocabulary.source)
    weights = [Weights("embedding", (rows, model.dim), "embedding")]
    if model.tie_embeddings != "all":
        weights.append(Weights("source_embedding", (source_rows, model.dim), "embedding"))
    if model.tie_embeddings == "none":
        weights.append(Weights("output", (rows, model.dim), "output"))
    stacks: list[Stack] = []
    buffers = 0
    for side, layers, settings in (
        ("encoder", model.encoder_layers, model.source_position_settings),
        ("decoder", model.decoder_layers, model.target_position_settings),
    ):
        own = model.encoder if side == "encoder" else model.decoder
        layer = _layer_of(own, settings, cross=side == "decoder")
        of = "source" if side == "encoder" else "target"
        trained, table = _positions(
            settings, positions, (model.dim, own.heads, model.dim // own.heads), name=f"{of}_positions"
        )
        weights += [*trained, *_of_side(side, layer_weights(layer, layers, bias=model.bias))]
        if layer.norm_first:
            weights += norm_weights(f"{side}.norm", model.norm, model.dim)
        stacks.append(Stack(layer, layers, reads_source=side == "encoder"))
        buffers += table
    return Shape(
        weights=tuple(weights),
        stacks=tuple(stacks),
        dim=model.dim,
        rows=rows,
        tied=model.tie_embeddings != "none",
        shares_source=model.tie_embeddings == "all",
        final_norm=model.norm_position == "before",
        buffers=buffers,
        padded=model.needs_padding,
    )


def _modular(model: ModularModel, vocabulary: Vocabulary, positions: int) -> Shape:
    """All weights of the components, beside the layers of the deepest direction: a micro-batch runs through one."""
    names = list(model.directions)
    routes = {name: model.route(name) for name in names}
    deepest = max(
        routes.values(), key=lambda each: sum(len(part.numbers) for part in (*each.encoder, *each.decoder))
    )
    one = _encoder_decoder(model.plain(deepest), vocabulary, positions)
    rows = rounded(vocabulary.target)
    read = {model.tables(route.source) for route in routes.values()}
    written = {model.tables(route.target) for route in routes.values()}
    tied = model.tie_embeddings
    counts = {"embeddings": len(read | written if tied == "all" else written)}
    counts["source_embeddings"] = 0 if tied == "all" else len(read)
    weights = [
        Weights(name, (rows, model.dim), "embedding", count) for name, count in counts.items() if count
    ]
    if tied == "none":
        weights.append(Weights("outputs", (rows, model.dim), "output", len(written)))
    weights += [each for each in one.weights if each.part == "position"]
    for side, own, settings in (
        ("encoder", model.encoder, model.source_position_settings),
        ("decoder", model.decoder, model.target_position_settings),
    ):
        layer = _layer_of(own, settings, cross=side == "decoder")
        last = {
            (route.encoder if side == "encoder" else route.decoder)[-1].component for route in routes.values()
        }
        for component, layers in (
            model.encoder_components if side == "encoder" else model.decoder_components
        ).items():
            weights += _of_side(f"{side}.{component}", layer_weights(layer, layers, bias=model.bias))
            if layer.norm_first and component in last:
                weights += norm_weights(f"{side}.{component}.norm", model.norm, model.dim)
    return replace(one, weights=tuple(weights))


def _classifier(model: EncoderModel, vocabulary: Vocabulary, positions: int) -> Shape:
    layer = _layer_of(model, model.position_settings, cross=False)
    trained, table = _positions(
        model.position_settings,
        positions,
        (model.dim, model.heads, model.dim // model.heads),
        name="source_positions",
    )
    rows = rounded(vocabulary.labels)
    weights = [
        Weights("embedding", (rounded(vocabulary.source), model.dim), "embedding"),
        Weights("output", (rows, model.dim), "output"),
        *trained,
        *_of_side("encoder", layer_weights(layer, model.layers, bias=model.bias)),
    ]
    if layer.norm_first:
        weights += norm_weights("encoder.norm", model.norm, model.dim)
    return Shape(
        weights=tuple(weights),
        stacks=(Stack(layer, model.layers, reads_source=True),),
        dim=model.dim,
        rows=rows,
        tied=False,
        final_norm=layer.norm_first,
        buffers=table,
        padded=model.needs_padding,
        one_target=True,
    )


def _layer_of(
    model: EncoderDecoderModel | EncoderModel, positions: PositionSettings, *, cross: bool
) -> Layer:
    return Layer(
        dim=model.dim,
        heads=model.heads,
        kv_heads=model.kv_heads or model.heads,
        head_size=model.dim // model.heads,
        feed_forward=model.feed_forward,
        gated=model.activation in GATED,
        activation=model.activation,
        norm=model.norm,
        norm_first=model.norm_position == "before",
        drops=model.dropout > 0,
        cross=cross,
        rotates=positions.rotates,
        qk_norm=model.qk_norm,
        biased=model.bias,
    )


def _positions(
    settings: PositionSettings, positions: int, sizes: tuple[int, int, int], *, name: str
) -> tuple[list[Weights], int]:
    """Trained vectors, and the bytes of a table that is not trained; `sizes` are the width of the model, its heads and
    the width of a head."""
    dim, heads, head_size = sizes
    if isinstance(settings, Combined):
        found = [
            _positions(each, positions, sizes, name=f"{name}.{part}")
            for each, part in ((settings.absolute, "absolute"), (settings.relative, "relative"))
        ]
        return [one for weights, _ in found for one in weights], sum(table for _, table in found)
    if isinstance(settings, InOneTable):
        return [Weights(name, settings.table(positions, dim, heads), "position")], 0
    if settings.rotates:
        return [], positions * head_size * 4
    return [], positions * dim * 4 if settings.adds_vectors else 0


def norm_weights(name: str, norm: str, dim: int, count: int = 1) -> list[Weights]:
    """The gain of a norm, and the shift of LayerNorm."""
    gain = [Weights(f"{name}.weight", (dim,), "vector", count)]
    return gain if norm == "rms" else [*gain, Weights(f"{name}.shift", (dim,), "vector", count)]


def layer_weights(layer: Layer, count: int, *, bias: bool | str) -> Iterator[Weights]:
    """All tensors of so many layers; `bias` is that of the recipe: all linear maps, none, or `qkv`."""

    def linear(name: str, outputs: int, inputs: int, *, biased: bool) -> Iterator[Weights]:
        yield Weights(f"{name}.weight", (outputs, inputs), "matrix", count)
        if biased:
            yield Weights(f"{name}.bias", (outputs,), "vector", count)

    dim, queries, keys = layer.dim, layer.query_width, layer.key_width
    everywhere = bias is True
    yield from norm_weights("norm_attention", layer.norm, dim, count)
    yield from linear("attention.qkv", queries + 2 * keys, dim, biased=bool(bias))
    yield from linear("attention.out", dim, queries, biased=everywhere)
    if layer.qk_norm:
        yield from norm_weights("attention.norm_queries", "rms", layer.head_size, count)
        yield from norm_weights("attention.norm_keys", "rms", layer.head_size, count)
    if layer.cross:
        yield from norm_weights("norm_cross", layer.norm, dim, count)
        yield from linear("cross.q", queries, dim, biased=everywhere)
        yield from linear("cross.kv", 2 * keys, dim, biased=everywhere)
        yield from linear("cross.out", dim, queries, biased=everywhere)
    yield from norm_weights("norm_feed_forward", layer.norm, dim, count)
    wide = layer.feed_forward * (2 if layer.gated else 1)
    yield from linear("feed_forward.up", wide, dim, biased=everywhere)
    yield from linear("feed_forward.down", dim, layer.feed_forward, biased=everywhere)


def _of_side(side: str, weights: Iterable[Weights]) -> Iterator[Weights]:
    """With the names that they have in the model, `#` for the number of the layer."""
    for each in weights:
        yield replace(each, name=f"{side}.blocks.#.{each.name}")


__all__ = ["LABELS", "native_shape", "shape_of"]
