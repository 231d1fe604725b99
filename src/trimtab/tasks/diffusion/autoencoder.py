"""A trained autoencoder, and its model in training."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float, UInt8
from torch import Tensor, nn

from trimtab.checkpoint.load import Checkpoint
from trimtab.config.autoencoder_model import AutoencoderModel
from trimtab.config.run import Recipe
from trimtab.device import choose_device
from trimtab.errors import input_error
from trimtab.inference.ready import prepare_for_inference
from trimtab.model.recompute import Recompute
from trimtab.model.transformer import Transformer
from trimtab.model.vision.autoencoder import Autoencoder, AutoencoderShape, init_autoencoder
from trimtab.tasks.diffusion.draws import normals
from trimtab.tasks.images.square_batches import SquareBatch
from trimtab.tasks.images.squares import images_of, slices
from trimtab.tasks.trained_run import trained_run

AT_ONCE = 256
"""Images of a batch in use."""
RANGE = 2.0
"""Of the numbers of an image, from -1 to 1."""


class ImageAutoencoder(Transformer):
    """The autoencoder of a run, behind `types.TrainableModel`. Names of weights are `network.` and those of
    `AutoencoderTiny` of diffusers."""

    def __init__(self, config: AutoencoderModel, *, channels: int, seed: int) -> None:
        super().__init__(config, num_ids=1, max_positions=1)
        self.config = config
        self.network = Autoencoder(shape_of(config, channels=channels))
        init_autoencoder(self.network, generator=torch.Generator().manual_seed(seed))

    def forward(self, batch: SquareBatch) -> Float[Tensor, "images numbers"]:
        """The images of a batch, encoded and decoded; while training, with noise on latents that follows from the keys
        of the images."""
        z = self.network.encode(self.given(batch.pixels))
        if self.training and self.config.latent_noise:
            noise = normals(batch.keys, z[0].numel()).view(z.shape).to(z.dtype)
            z = z + self.config.latent_noise * noise
        return self.network.decode(z).flatten(1)

    def given(
        self, pixels: UInt8[Tensor, "images channels side side2"]
    ) -> Float[Tensor, "images channels side side2"]:
        """Pixels from -1 to 1."""
        return pixels.to(torch.promote_types(self.output_matrix.dtype, torch.float32)) / 127.5 - 1

    @property
    def output_matrix(self) -> Float[Tensor, "channels numbers"]:
        """The last convolution."""
        return self.network.decoder.layers[-1].weight.flatten(1)

    def recompute_in_backward(self, recompute: Recompute) -> None:
        """Which activations the backward pass computes again."""
        super().recompute_in_backward(recompute)
        self.network.encoder.recompute = self.network.decoder.recompute = recompute

    def wrongly_tied(self) -> str:
        """Nothing: there is no matrix to tie."""
        return ""

    def tokens_read(self, batch: SquareBatch) -> dict[str, int]:
        """How many images are read."""
        return {"autoencoder": batch.num_targets}

    @property
    def blocks(self) -> Sequence[nn.Module]:
        """The residual blocks."""
        return self.network.blocks


def shape_of(config: AutoencoderModel, *, channels: int) -> AutoencoderShape:
    """The sizes that a recipe describes."""
    halvings = config.reduction.bit_length() - 1
    blocks = (1, *[config.blocks] * halvings)
    return AutoencoderShape(channels, config.latent_channels, config.dim, blocks)


def autoencoder_of(recipe: Recipe) -> ImageAutoencoder:
    """The model that a recipe describes, on the CPU, with its first weights, which follow from the recipe's seed."""
    assert isinstance(recipe.model, AutoencoderModel), "that is what such a recipe describes"
    return ImageAutoencoder(recipe.model, channels=images_of(recipe).num_channels, seed=recipe.seed)


@dataclass(frozen=True)
class TrainedAutoencoder:
    """A checkpoint's autoencoder on its device."""

    recipe: Recipe
    checkpoint: Checkpoint
    model: ImageAutoencoder

    def __repr__(self) -> str:
        return f"TrainedAutoencoder({str(self.checkpoint.folder)!r})"

    def reconstruct(self, pixels: UInt8[np.ndarray, "images side side2 channels"]) -> np.ndarray:
        """The images after encoding and decoding, of the same form. Sides must be multiples of `model.reduction`."""
        return np.concatenate(
            [reconstructed(self.model, pixels[part]) for part in slices(len(pixels), AT_ONCE)]
            or [np.empty_like(pixels)]
        )


@torch.no_grad()
def reconstructed(model: ImageAutoencoder, pixels: np.ndarray) -> np.ndarray:
    """Images `images side side channels`, uint8, encoded and decoded."""
    device = model.output_matrix.device
    given = torch.from_numpy(np.ascontiguousarray(pixels.transpose(0, 3, 1, 2))).to(device)
    network = model.network
    x = model.given(given).to(model.output_matrix.dtype)
    return eight_bits(network.decode(network.encode(x)))


def eight_bits(images: Float[Tensor, "images channels side side2"]) -> np.ndarray:
    """Images from -1 to 1 as `images side side channels`, uint8."""
    pixels = ((images.float() + 1) * 127.5).round().clamp(0, 255).to(torch.uint8)
    return pixels.permute(0, 2, 3, 1).cpu().numpy()


def load_autoencoder(spec: Path | str, *, device: str | None = None) -> TrainedAutoencoder:
    """The autoencoder of `RUN`, `RUN@last` or `RUN@500`; on a GPU in half precision.

    Raises InputError if there is no such run or checkpoint, it is no autoencoder, or the checkpoint is damaged.
    """
    run = trained_run(spec, task="diffusion", kind="autoencoder")
    if not isinstance(run.recipe.model, AutoencoderModel):
        raise input_error(
            f"{spec}: no autoencoder",
            got=f"a run with `model.kind: {run.recipe.model.kind}`",
            allowed="a run with `model.kind: autoencoder`",
            fix="name a run of this kind",
        )
    model = autoencoder_of(run.recipe)
    run.load_weights(model)
    ready = prepare_for_inference(choose_device(device), model, kernel="padded")
    return TrainedAutoencoder(run.recipe, run.checkpoint, ready)


def psnr(loss: float) -> float:
    """The peak signal-to-noise ratio in decibels of a mean squared error of numbers from -1 to 1."""
    return 10 * math.log10(RANGE**2 / max(loss, 1e-12))
