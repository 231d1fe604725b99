"""The data of a run, opened: images with their classes, the process, and latents where the model works in them."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import torch

from trimtab.config.diffusion_model import DiffusionModel
from trimtab.config.images import ImageConfig
from trimtab.config.run import Recipe
from trimtab.progress import Progress
from trimtab.tasks.diffusion.latents import AT_ONCE, Latents
from trimtab.tasks.diffusion.process import Process
from trimtab.tasks.diffusion.starting import check_patch, prepare_latents
from trimtab.tasks.images.squares import Squares, images_of, open_squares, unpacked


@dataclass(frozen=True, kw_only=True)
class ImageDatasets(Squares):
    """Everything that is read, ready to be read; see `tasks.task.Datasets`."""

    process: Process
    latents: Latents | None = None
    """None for a model of pixels."""

    @property
    def no_class(self) -> int:
        """The number that stands for no class."""
        return len(self.labels)

    @cached_property
    def second_moment(self) -> float:
        """The mean square of the numbers that the model sees of the images of the sample without noise."""
        if self.latents is None:
            return float(np.square(self.sample_pixels / 127.5 - 1).mean())
        images = self.feed.images
        _, pixels = unpacked(self.sample.source, side=images.size, channels=images.num_channels)
        parts = torch.from_numpy(np.ascontiguousarray(pixels)).split(AT_ONCE)
        device = self.latents.mean.device  # that of the model, once it holds them
        latents = torch.cat([self.latents.encode(part.to(device).float() / 127.5 - 1) for part in parts])
        return float(latents.double().square().mean())

    @property
    def fingerprints(self) -> dict[str, str]:
        """What must not change when a run resumes, by name."""
        found = super().fingerprints
        return found if self.latents is None else {**found, "autoencoder": self.latents.fingerprint}


def open_datasets(recipe: Recipe, *, tokenizer_folder: Path, progress: Progress) -> ImageDatasets:
    """Opens what a recipe with absolute paths names; see `tasks.task.Task.open_datasets`."""
    progress.message("reading the lists of images")
    model, images = settings_of(recipe)
    opened = open_squares(recipe, tokenizer_folder=tokenizer_folder)
    side, latents = images.size, None
    if model.autoencoder is not None:
        latents = prepare_latents(
            model.autoencoder, images, opened.sample.source, folder=tokenizer_folder, progress=progress
        )
        side //= latents.shape.reduction
        check_patch(model.patch, side)
    return ImageDatasets(
        **opened._asdict(), process=Process.of(model), latents=latents, patches=(side // model.patch) ** 2
    )


def settings_of(recipe: Recipe) -> tuple[DiffusionModel, ImageConfig]:
    """Those of the model and of the images."""
    assert isinstance(recipe.model, DiffusionModel), "other kinds are refused with the recipe"
    return recipe.model, images_of(recipe)
