"""What a model takes from its positions: how much worse it predicts without them, and what a shift of all of them does.

A model with absolute and relative positions may ignore one of them, and one with absolute positions may compute another
vector for the same text further on (Kiyono et al. 2021, arXiv 2109.05644, section 2.2).
"""

from collections.abc import Generator
from contextlib import ExitStack, contextmanager

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from trimtab.config.positions import Absolute, NoPositions, parts_of
from trimtab.model.block import SelfAttention
from trimtab.model.decoder_only import DecoderOnly
from trimtab.model.encoder_decoder import EncoderDecoder
from trimtab.model.positions.kind import Positions, RotaryCosSin
from trimtab.training.first_rows import first_rows
from trimtab.types import IGNORE, PackedBatch

SIDES = ("source_positions", "target_positions")
TOKENS_AT_ONCE = 512
"""Tokens whose logits are in memory at the same time."""
SHIFT = 8
"""Tokens by which a text is moved, where the model has so many positions left."""


class ChangedPositions(Positions):
    """Positions that are shifted, or do not add their absolute or their relative part."""

    def __init__(
        self, own: Positions, *, shift: int = 0, absolute: bool = True, relative: bool = True
    ) -> None:
        super().__init__()
        self.own, self.shift, self.absolute, self.relative = own, shift, absolute, relative

    def embed(
        self, x: Float[Tensor, "tokens dim"], positions: Int[Tensor, "tokens"]
    ) -> Float[Tensor, "tokens dim"]:
        """With the vectors of shifted positions, or none."""
        return self.own.embed(x, positions + self.shift) if self.absolute else x

    def rotate(self, positions: Int[Tensor, "tokens"]) -> RotaryCosSin | None:
        """By the angles of shifted positions, or not at all."""
        return self.own.rotate(positions + self.shift) if self.relative else None

    def bias(
        self, queries: Int[Tensor, "*rows queries"], keys: Int[Tensor, "*rows keys"]
    ) -> Float[Tensor, "*rows heads queries keys"] | None:
        """As without a shift, which changes no distance; or none."""
        return self.own.bias(queries, keys) if self.relative else None

    def distances(
        self, queries: Int[Tensor, "*rows queries"], keys: Int[Tensor, "*rows keys"]
    ) -> Int[Tensor, "*rows queries keys"] | None:
        """The same of distances."""
        return self.own.distances(queries, keys) if self.relative else None


@torch.no_grad()
def position_use(model: nn.Module, batch: object) -> dict[str, float]:
    """The increase of a batch's loss, in nats per target, without absolute and without relative positions, as far as
    the model has them, and the mean cosine similarity between its hidden vectors and those of the same texts `SHIFT`
    tokens later. Both are of the first rows of the batch. Empty for models without positions of this package. The model
    must be in evaluation mode."""
    match model:
        case EncoderDecoder() | DecoderOnly():
            assert isinstance(batch, PackedBatch), "they read no other batches"
            return _position_use(model, first_rows(batch))
        case _:
            return {}


def _position_use(model: EncoderDecoder | DecoderOnly, batch: PackedBatch) -> dict[str, float]:
    hidden = model(batch)
    loss, found = loss_of(model, hidden, batch), dict[str, float]()
    for part in sorted(parts_in(model)):
        with positions_changed(model, **{part: False}):
            found[f"loss_without_{part}"] = loss_of(model, model(batch), batch) - loss
    longest = max(stream.max_seqlen for stream in (batch.source, batch.target))
    if shift := min(SHIFT, model.max_positions - longest):
        with positions_changed(model, shift=shift):
            shifted = model(batch)
        found["shift_similarity"] = float(F.cosine_similarity(hidden.float(), shifted.float(), dim=-1).mean())
    return found


def parts_in(model: EncoderDecoder | DecoderOnly) -> set[str]:
    """Which parts its positions have: `absolute`, `relative`."""
    each = [part for settings in model.config.all_position_settings for part in parts_of(settings)]
    return {
        "absolute" if isinstance(part, Absolute) else "relative"
        for part in each
        if not isinstance(part, NoPositions)
    }


def loss_of(
    model: EncoderDecoder | DecoderOnly, hidden: Float[Tensor, "tokens dim"], batch: PackedBatch
) -> float:
    """Nats a target."""
    return float(mean_loss(model, hidden, batch))


def mean_loss(
    model: EncoderDecoder | DecoderOnly, hidden: Float[Tensor, "tokens dim"], batch: PackedBatch
) -> Float[Tensor, ""]:
    """Nats a target, from the logits of a few tokens at once."""
    pieces = zip(hidden.split(TOKENS_AT_ONCE), batch.labels.split(TOKENS_AT_ONCE), strict=True)
    total = sum(
        (
            F.cross_entropy(model.logits(each), labels, ignore_index=IGNORE, reduction="sum")
            for each, labels in pieces
        ),
        start=hidden.new_zeros((), dtype=torch.float32),
    )
    return total / (batch.labels != IGNORE).sum()


@contextmanager
def positions_changed(
    model: EncoderDecoder | DecoderOnly, *, shift: int = 0, absolute: bool = True, relative: bool = True
) -> Generator[None]:
    """While it is open the model has these positions."""
    with ExitStack() as undo:
        for side in SIDES:
            own = getattr(model, side, None)
            if isinstance(own, Positions):
                undo.callback(setattr, model, side, own)
                changed = ChangedPositions(own, shift=shift, absolute=absolute, relative=relative)
                setattr(model, side, changed)
        for module in model.modules() if not relative else ():
            if isinstance(module, SelfAttention) and module.relative is not None:
                undo.callback(setattr, module, "relative", module.relative)
                module.relative = None
        yield
