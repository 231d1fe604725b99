"""The modular translation model: components, and a route through them for each direction."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from trimtab.config.layer_parts import SUM_WITHOUT_NORM
from trimtab.config.modular_model import SIDES, Layers, ModularModel, Route, Side
from trimtab.model.block import DecoderBlock, EncoderBlock
from trimtab.model.init import fill_weights, scale_down_last_norm
from trimtab.model.modular.route_model import RouteModel, RouteParts, chained
from trimtab.model.modular.together import Predicted, predicted
from trimtab.model.norm import zero_gains
from trimtab.model.positions.build import Sizes, build_positions
from trimtab.model.stack import Stack
from trimtab.model.transformer import Transformer
from trimtab.types import DirectedBatch

ROWS_MULTIPLE = 64
MOST_SHAPES = 64
"""Numbers of packs for which layers of one kind are compiled; beyond it they run as written."""
PLAIN = nn.ModuleDict()
"""No module in a ModuleDict may have the name of one of its attributes."""


class Modular(Transformer):
    """A transformer encoder-decoder whose stacks are composed of components, a way for each translation direction
    (Mickus et al. 2024, arXiv 2403.07544). Each way is a `RouteModel`, a translator like any other over modules of
    this model, so that what holds for a translator holds for each direction."""

    def __init__(self, config: ModularModel, *, num_ids: int, max_positions: int, seed: int) -> None:
        """`num_ids` is the size of the vocabulary that all languages share; no sentence may be longer than
        `max_positions` tokens."""
        super().__init__(config, num_ids=num_ids, max_positions=max_positions)
        self.config = config
        rows = -(-num_ids // ROWS_MULTIPLE) * ROWS_MULTIPLE
        names = list(dict.fromkeys(config.tables(each) for each in config.all_languages))
        tied = config.tie_embeddings

        def tables() -> nn.ModuleDict:
            return by_name((name, nn.Embedding(rows, config.dim)) for name in names)

        self.embeddings = tables()
        self.source_embeddings = tables() if tied != "all" else None
        self.outputs = tables() if tied == "none" else None
        sizes = Sizes(
            max_positions, config.dim, config.encoder.heads, 1.0, math.sqrt(config.dim), bidirectional=True
        )
        self.source_positions = build_positions(config.source_position_settings, sizes)
        sizes = sizes._replace(heads=config.decoder.heads, bidirectional=False)
        self.target_positions = build_positions(config.target_position_settings, sizes)
        self.encoder = by_name(
            (name, Stack([EncoderBlock(config.encoder) for _ in range(count)], config))
            for name, count in config.encoder_components.items()
        )
        self.decoder = by_name(
            (name, Stack([DecoderBlock(config.decoder) for _ in range(count)], config))
            for name, count in config.decoder_components.items()
        )
        self._keep_last_norms()
        self._keep_used_tables()
        fill_weights(self, config, seed=seed)
        self.begins_zero = zero_gains(self)
        if config.norm_position in SUM_WITHOUT_NORM:
            for stack in self.decoder.values():
                if not isinstance(stack.norm, nn.Identity):
                    scale_down_last_norm(stack.norm, config)
        elif config.rezero:
            for name in config.directions:
                last = self._chained("decoder", config.layers(name, "decoder")).blocks[-1]
                scale_down_last_norm(last.norm_feed_forward.first, config)
        self.factors: Float[Tensor, "components"] | None = None
        self._scaled: set[int] = set()

    def forward(self, batch: DirectedBatch) -> Float[Tensor, "target_tokens dim"]:
        """The hidden vectors of all parts of a micro-batch, each by the way of its direction."""
        return torch.cat([self.translator(name)(pack) for name, pack in batch.parts])

    def predicted(self, batch: DirectedBatch) -> list[Predicted]:
        """The same with the packs of all directions at once in the layers that they share."""
        return predicted(self, batch)

    def component(self, side: Side, name: str) -> Stack:
        """The layers of a component."""
        components: Any = self.encoder if side == "encoder" else self.decoder
        return components[key_of(name)]

    def translator(self, direction: str) -> RouteModel:
        """The translator of a direction, over modules of this model."""
        return self.translator_of(self.config.route(direction))

    def translator_of(self, route: Route) -> RouteModel:
        """The translator of any route, trained in or not."""
        config = self.config
        source, target = config.tables(route.source), config.tables(route.target)
        read, written = of_name(self.source_embeddings, source), of_name(self.embeddings, target)
        if self.source_embeddings is None:
            read = of_name(self.embeddings, source)
        parts = RouteParts(
            embedding=written,
            source_embedding=None if read is written else read,
            output=None if self.outputs is None else of_name(self.outputs, target),
            source_positions=self.source_positions,
            target_positions=self.target_positions,
            encoder=self._chained("encoder", route.encoder),
            decoder=self._chained("decoder", route.decoder),
        )
        model = RouteModel(config.plain(route), parts, num_ids=self.num_ids, max_positions=self.max_positions)
        return model.set_as(kernel=self.kernel, recompute=self.recompute, training=self.training)

    @property
    def components(self) -> tuple[str, ...]:
        """Names of the components, such as `encoder.shared`, `decoder.de` and `embeddings.shared`, in a fixed order."""
        return tuple(dict.fromkeys(self.component_of(name) for name, _ in self.named_parameters()))

    def component_of(self, name: str) -> str:
        """The component that a parameter belongs to, by its name in `named_parameters`."""
        part, _, rest = name.partition(".")
        return f"{part}.{rest.partition('.')[0]}" if isinstance(getattr(self, part), nn.ModuleDict) else part

    def users(self) -> dict[str, frozenset[str]]:
        """By component, the directions that run through it."""
        routes = {name: self.config.route(name) for name in self.config.directions}
        used = {name: set(self._parts_of(route)) for name, route in routes.items()}
        return {
            component: frozenset(name for name, parts in used.items() if component in parts)
            for component in self.components
        }

    def compile_blocks(self) -> None:
        """Compiles each block. A block processes the packs of all directions that share it, and is compiled once for
        each number of packs."""
        import torch._dynamo.config as dynamo  # late: only who compiles needs it

        dynamo.recompile_limit = max(dynamo.recompile_limit, MOST_SHAPES)
        super().compile_blocks()

    def scale_gradients(self, factors: Float[Tensor, "components"] | None) -> None:
        """From here on multiplies what a backward pass adds to the gradient of each component by its factor."""
        self.factors = factors
        if factors is None:
            return
        numbers = {name: number for number, name in enumerate(self.components)}
        for name, parameter in self.named_parameters():
            if parameter.requires_grad and id(parameter) not in self._scaled:
                self._scaled.add(id(parameter))
                parameter.register_hook(self._scaler(numbers[self.component_of(name)]))

    def _scaler(self, number: int) -> Any:
        def scaled(gradient: Tensor) -> Tensor:
            return gradient if self.factors is None else gradient * self.factors[number].to(gradient.dtype)

        return scaled

    def _parts_of(self, route: Route) -> Iterable[str]:
        yield from (f"{side}.{key_of(name)}" for side, name in (each.split(".") for each in route.components))
        source, target = (key_of(self.config.tables(each)) for each in (route.source, route.target))
        tied = self.config.tie_embeddings
        yield from (
            f"embeddings.{target}",
            f"embeddings.{source}" if tied == "all" else f"source_embeddings.{source}",
        )
        yield from (f"outputs.{target}", "source_positions", "target_positions")

    def _chained(self, side: Side, parts: Sequence[Layers]) -> Stack:
        blocks: list[nn.Module] = []
        for part in parts:
            blocks += self.component(side, part.component).blocks[part.first : part.stop]
        return chained(blocks, self.component(side, parts[-1].component).norm)

    def _keep_last_norms(self) -> None:
        """A component has a norm of its own behind its layers where a stack ends with it."""
        for side, components in zip(SIDES, (self.encoder, self.decoder), strict=True):
            last = {self.config.layers(name, side)[-1].component for name in self.config.directions}
            for name, stack in zip(self.config.components(side), components.values(), strict=True):
                if name not in last:
                    stack.norm = nn.Identity()

    def _keep_used_tables(self) -> None:
        """Where languages have embeddings of their own, those that no direction reads or writes are not there."""
        used = {part for name in self.config.directions for part in self._parts_of(self.config.route(name))}
        for tables in ("embeddings", "source_embeddings", "outputs"):
            found: Any = getattr(self, tables)
            for key in list(found or ()):
                if f"{tables}.{key}" not in used:
                    del found[key]

    def tokens_read(self, batch: DirectedBatch) -> dict[str, int]:
        """How many real tokens the encoders and the decoders read."""
        return {"encoder": batch.num_tokens - batch.num_targets, "decoder": batch.num_targets}

    def wrongly_tied(self) -> str:
        """Which matrices of which direction are not tied as the settings say; empty where all are."""
        found = ((name, self.translator(name).wrongly_tied()) for name in self.config.directions)
        return next((f"{matrices} of {name}" for name, matrices in found if matrices), "")

    @property
    def output_matrix(self) -> Float[Tensor, "rows dim"]:
        """That of the first direction."""
        return self.translator(next(iter(self.config.directions))).output_matrix

    @property
    def blocks(self) -> tuple[nn.Module, ...]:
        """The layers of all components of the encoders, then of the decoders."""
        stacks = (*self.encoder.values(), *self.decoder.values())
        return tuple(block for stack in stacks for block in stack.blocks)


def by_name(modules: Iterable[tuple[str, nn.Module]]) -> nn.ModuleDict:
    """Modules under the names of components or languages."""
    return nn.ModuleDict({key_of(name): module for name, module in modules})


def of_name(tables: nn.ModuleDict | None, name: str) -> Any:
    """The module of a name; None where there are none."""
    return None if tables is None else tables[key_of(name)]


def key_of(name: str) -> str:
    """The name of a component or language among the weights. It gets an underscore if a ModuleDict has an attribute of
    that name, such as `to` or `half`, or if it is such a name with underscores at its end, so that `to` and `to_` stay
    distinct."""
    beginnings = (name[:stop] for stop in range(len(name.rstrip("_")) or 1, len(name) + 1))
    return f"{name}_" if any(hasattr(PLAIN, each) for each in beginnings) else name
