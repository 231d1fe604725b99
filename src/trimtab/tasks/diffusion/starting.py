"""The autoencoder that a diffusion run starts with: copied into the run, with the statistics of its latents."""

from pathlib import Path

import numpy as np

from trimtab.config.images import ImageConfig
from trimtab.errors import input_error
from trimtab.progress import Progress
from trimtab.tasks.diffusion.autoencoder import load_autoencoder
from trimtab.tasks.diffusion.latents import (
    CONFIG,
    FOLDER,
    Latents,
    measured,
    read_latents,
    read_network,
    write_latents,
)
from trimtab.tasks.images.squares import unpacked
from trimtab.types import Ragged


def prepare_latents(
    given: str, images: ImageConfig, sample: Ragged, *, folder: Path, progress: Progress
) -> Latents:
    """The latents in the folder of a run; where there are none yet, those of the autoencoder that the recipe names,
    measured on the sample and written there.

    Raises InputError for what is no autoencoder, and for one of other channels than the images.
    """
    own = folder / FOLDER
    if (own / CONFIG).is_file():
        return read_latents(own)
    progress.message("measuring the latents of the autoencoder")
    path = Path(given)
    network = (
        read_network(path)
        if (path / CONFIG).is_file()
        else load_autoencoder(given, device="cpu").model.network
    )
    if network.shape.image_channels != images.num_channels:
        reads = "rgb" if network.shape.image_channels == 3 else "grey"
        raise input_error(
            "model.autoencoder: was trained on images with other channels",
            got=f"{network.shape.image_channels}, with data.images.channels {images.channels}",
            allowed=f"{images.num_channels}",
            fix=f"set `data.images.channels: {reads}`, or name another autoencoder",
        )
    if images.size % network.shape.reduction:
        raise input_error(
            "data.images.size: no multiple of the reduction of the autoencoder",
            got=f"{images.size}, with a reduction of {network.shape.reduction}",
            allowed=f"a multiple of {network.shape.reduction}",
            fix=f"set `data.images.size: {max(1, images.size // network.shape.reduction) * network.shape.reduction}`",
        )
    _, pixels = unpacked(sample, side=images.size, channels=images.num_channels)
    statistics = measured(network, np.ascontiguousarray(pixels))
    write_latents(network, statistics, own)
    return Latents(network, statistics)


def check_patch(patch: int, side: int) -> None:
    """InputError for patches that do not divide a latent of so many cells on a side."""
    if side % patch:
        fitting = [each for each in range(1, side + 1) if side % each == 0]
        raise input_error(
            "model.patch: patches do not divide the latents",
            got=f"{patch}, with latents of {side} x {side} cells",
            allowed=", ".join(map(str, fitting)),
            fix=f"set `model.patch: {max(each for each in fitting if each <= patch)}`",
        )
