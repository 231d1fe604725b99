"""The model: a vision transformer over square images, and a linear map of what is pooled to the classes."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int, UInt8
from torch import Tensor, nn

from trimtab.config.image_classifier_model import ImageClassifierModel
from trimtab.model.init import xavier
from trimtab.model.recompute import Recompute
from trimtab.model.transformer import Transformer
from trimtab.model.vision.encoder import VisionEncoder
from trimtab.model.vision.fill import draw, fill_layer
from trimtab.tasks.images.square_batches import SquareBatch
from trimtab.types import Stream

FIRST_STD = 0.1
"""Of the logits of an untrained model whose vectors have unit variance: so small that its loss is ln(classes)."""


@dataclass(frozen=True, slots=True)
class Strip:
    """Square images side by side with a column of patches between them; see `model.vision.encoder.Images`."""

    pixels: UInt8[Tensor, "channels height width"]
    real: Bool[Tensor, "rows columns"]
    stream: Stream
    rows: Int[Tensor, "patches"]
    columns: Int[Tensor, "patches"]


def strip_of(pixels: UInt8[Tensor, "images channels side side2"], patch: int) -> Strip:
    """The strip of a batch, made on its device."""
    count, channels, side, _ = pixels.shape
    rows, device = side // patch, pixels.device
    apart = F.pad(pixels, (0, patch)).permute(1, 2, 0, 3).reshape(channels, side, count * (side + patch))
    each = torch.arange(rows * rows, device=device)
    row, column = each // rows, each % rows
    images = torch.arange(count, device=device)
    ids = row * (count * (rows + 1)) + column + images[:, None] * (rows + 1)
    real = torch.arange(count * (rows + 1), device=device) % (rows + 1) < rows
    bounds = torch.arange(count + 1, device=device, dtype=torch.int32) * len(each)
    stream = Stream(ids.flatten(), each.repeat(count), images.repeat_interleave(len(each)), bounds, len(each))
    return Strip(apart, real.expand(rows, -1), stream, row.repeat(count), column.repeat(count))


class ImageClassifier(Transformer):
    """A vision transformer with a linear map to the classes.

    Names of weights: `vision.*`, `pool_scores.weight` with `pool: softmax`, and `output.weight`, a row for each class.
    """

    def __init__(
        self, config: ImageClassifierModel, *, num_classes: int, channels: int, side: int, seed: int
    ) -> None:
        """Images are `side` pixels wide and high. The matrix has more rows, up to a multiple of 64, for speed."""
        rows = side // config.patch
        super().__init__(config, num_ids=num_classes, max_positions=rows**2 + config.added_tokens)
        self.config, self.num_patches = config, rows**2
        self.vision = VisionEncoder(config, channels=channels, rows=rows, columns=rows)
        self.pool_scores = nn.Linear(config.dim, 1, bias=False) if config.pool == "softmax" else None
        self.output = nn.Embedding(-(-num_classes // 64) * 64, config.dim)
        init_image_classifier(self, config, seed=seed)

    def forward(self, batch: SquareBatch) -> Float[Tensor, "images dim"]:
        """The vector from which each class is predicted, `output_matrix @ vector` being its logits."""
        patches, registers = self.vision.outputs(
            strip_of(batch.pixels, self.config.patch), padded=self.padded
        )
        images = len(batch.labels)
        if self.config.pool == "class_token":
            assert registers is not None
            return registers.view(images, -1, self.config.dim)[:, 0]
        wide = patches.to(torch.promote_types(patches.dtype, torch.float32)).view(images, -1, self.config.dim)
        if self.pool_scores is None:
            return wide.mean(1).to(patches.dtype)
        weights = self.pool_scores(patches).view(images, -1, 1).to(wide.dtype).softmax(1)
        return (weights * wide).sum(1).to(patches.dtype)

    def recompute_in_backward(self, recompute: Recompute) -> None:
        """Which activations the backward pass computes again."""
        super().recompute_in_backward(recompute)
        self.vision.recompute = recompute

    def wrongly_tied(self) -> str:
        """Nothing: there is no matrix to tie."""
        return ""

    def tokens_read(self, batch: SquareBatch) -> dict[str, int]:
        """How many patches the layers read."""
        return {"vision": batch.num_targets * self.num_patches}

    @property
    def blocks(self) -> Sequence[nn.Module]:
        """The layers."""
        return (*self.vision.stack.blocks,)


@torch.no_grad()
def init_image_classifier(model: ImageClassifier, config: ImageClassifierModel, *, seed: int) -> None:
    """Fills every parameter; the same seed gives the same weights on any device."""
    generator = torch.Generator().manual_seed(seed)
    damp = 1 / math.sqrt(2 * config.layers)
    for module in model.vision.modules():
        fill_layer(module, config, damp=damp, generator=generator)
    xavier(model.vision.stem.project, width=config.dim, gain=1.0, generator=generator)
    if model.vision.registers is not None:
        draw(model.vision.registers.weight, 1.0, generator=generator)
    if model.pool_scores is not None:
        draw(model.pool_scores.weight, FIRST_STD / math.sqrt(config.dim), generator=generator)
    assert model.output is not None
    draw(model.output.weight, FIRST_STD / math.sqrt(config.dim), generator=generator)
