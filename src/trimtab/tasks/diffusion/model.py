"""The model of a run: the network, and the noise process that it belongs to."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from trimtab.config.diffusion_model import DiffusionModel
from trimtab.model.recompute import Recompute
from trimtab.model.transformer import Transformer
from trimtab.model.vision.dit import DiT, init_dit
from trimtab.tasks.diffusion.batches import DiffusionBatch
from trimtab.tasks.diffusion.draws import normals
from trimtab.tasks.diffusion.latents import Latents
from trimtab.tasks.diffusion.process import Process


class Noised(NamedTuple):
    """Images with noise, and what is to be predicted of them."""

    x: Float[Tensor, "images channels side side2"]
    target: Float[Tensor, "images channels side side2"]


class ImageDiffuser(Transformer):
    """A diffusion transformer over pixels from -1 to 1, or over the latents of an autoencoder.

    Names of weights: `dit.project.*`, `dit.places.*` where they are learned, `dit.time_in.*`, `dit.time_out.*`,
    `dit.classes.weight` (a row for each class and the last one for none), `dit.blocks.N.*`, `dit.modulation.*` and
    `dit.output.*`.
    """

    def __init__(
        self,
        config: DiffusionModel,
        *,
        num_classes: int,
        canvas: tuple[int, int],
        latents: Latents | None = None,
        seed: int,
    ) -> None:
        """`canvas` are the channels of images, and their pixels on a side."""
        channels, side = canvas
        if latents is not None:
            channels, side = latents.shape.latent_channels, side // latents.shape.reduction
        super().__init__(config, num_ids=num_classes + 1, max_positions=(side // config.patch) ** 2)
        self.config, self.process = config, Process.of(config)
        self.canvas, self.latents = canvas, latents
        self.no_class, self.channels, self.side = num_classes, channels, side
        self.dit = DiT(config, channels=channels, side=side, labels=num_classes)
        init_dit(self.dit, config, generator=torch.Generator().manual_seed(seed))
        self.begins_zero = frozenset(
            name for name, _ in self.named_parameters() if name.endswith("modulation.weight")
        )

    def forward(self, batch: DiffusionBatch) -> Float[Tensor, "images numbers"]:
        """What is predicted of the images of a batch, with the noise of their times."""
        return self.predict(self.noised(batch).x, batch.times, batch.labels).flatten(1)

    def noised(self, batch: DiffusionBatch) -> Noised:
        """The images with their noise, float32 or as wide as the weights."""
        x0 = batch.pixels.to(self.number_type) / 127.5 - 1
        if self.latents is not None:
            x0 = self.latents.encode(x0).to(x0.dtype)
        epsilon = normals(batch.keys, x0[0].numel()).to(x0.dtype).view(x0.shape)
        t = batch.times.to(x0.dtype)[:, None, None, None]
        return Noised(self.process.noised(x0, epsilon, t), self.process.target(x0, epsilon, t))

    def predict(
        self,
        x: Float[Tensor, "images channels side side2"],
        t: Float[Tensor, "images"],
        labels: Int[Tensor, "images"],
    ) -> Float[Tensor, "images channels side side2"]:
        """The network's prediction; see `samplers.Predict`."""
        return self.dit(x, t, labels, padded=self.padded)

    def images(
        self, x: Float[Tensor, "images channels side side2"]
    ) -> Float[Tensor, "images channels2 pixels pixels2"]:
        """The images of what was sampled, about from -1 to 1."""
        return x if self.latents is None else self.latents.decode(x)

    def narrowed(self, dtype: torch.dtype) -> "ImageDiffuser":
        """The model itself with its weights in half precision; latents keep theirs."""
        latents, self.latents = self.latents, None
        super().narrowed(dtype)
        self.latents = latents
        return self

    @property
    def number_type(self) -> torch.dtype:
        """Of images and losses: no narrower than float32."""
        return torch.promote_types(self.dit.output.weight.dtype, torch.float32)

    @property
    def output_matrix(self) -> Float[Tensor, "rows dim"]:
        """What gives the numbers of a patch."""
        return self.dit.output.weight

    def recompute_in_backward(self, recompute: Recompute) -> None:
        """Which activations the backward pass computes again."""
        super().recompute_in_backward(recompute)
        self.dit.recompute = recompute

    def wrongly_tied(self) -> str:
        """Nothing: there is no matrix to tie."""
        return ""

    def tokens_read(self, batch: DiffusionBatch) -> dict[str, int]:
        """How many patches the layers read."""
        return {"dit": batch.num_targets * self.dit.num_patches}

    @property
    def blocks(self) -> Sequence[nn.Module]:
        """The layers."""
        return (*self.dit.blocks,)
