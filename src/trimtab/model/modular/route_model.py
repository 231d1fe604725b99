"""The translator of one route through a modular model: the model's own layers and matrices, as a plain one has them."""

from dataclasses import dataclass
from typing import Literal

from torch import nn

from trimtab.config.model import EncoderDecoderModel
from trimtab.model.attention import Kernel
from trimtab.model.encoder_decoder import EncoderDecoder
from trimtab.model.positions.kind import Positions
from trimtab.model.stack import Stack
from trimtab.model.transformer import Transformer


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteParts:
    """What the translator of a route is made of."""

    embedding: nn.Embedding
    """Of the language that is written."""
    source_embedding: nn.Embedding | None
    """Of the language that is read, where that is another matrix."""
    output: nn.Embedding | None
    """The output matrix, where that is another than `embedding`."""
    source_positions: Positions
    target_positions: Positions
    encoder: Stack
    decoder: Stack


class RouteModel(EncoderDecoder):
    """An encoder-decoder over modules that belong to a modular model: what one changes, the other has."""

    def __init__(
        self, config: EncoderDecoderModel, parts: RouteParts, *, num_ids: int, max_positions: int
    ) -> None:
        """`num_ids` is the size of the vocabulary; no sentence may be longer than `max_positions` tokens."""
        # Not that of EncoderDecoder, which makes and fills modules of its own.
        Transformer.__init__(self, config, num_ids=num_ids, max_positions=max_positions)
        self.config = config
        self.embedding = parts.embedding
        self.source_embedding = parts.source_embedding
        self.output = parts.output
        self.source_positions = parts.source_positions
        self.target_positions = parts.target_positions
        self.encoder = parts.encoder
        self.decoder = parts.decoder
        self.source_factors = self.source_registers = None

    def set_as(
        self, *, kernel: Kernel, recompute: Literal["none", "feed_forward", "block"], training: bool
    ) -> "RouteModel":
        """The same model with the modular model's way to run. The mode of its layers stays as it is."""
        self.kernel, self.recompute = kernel, recompute
        self.training = training
        return self


def chained(blocks: list[nn.Module], norm: nn.Module) -> Stack:
    """Blocks that there are already as a stack with this last norm."""
    stack = Stack.__new__(Stack)
    nn.Module.__init__(stack)
    stack.blocks = nn.ModuleList(blocks)
    stack.norm = norm
    return stack
