"""Images out of a model: what is wanted, in batches, as pixels."""

from dataclasses import dataclass

import numpy as np
import torch

from trimtab.config.diffusion_model import Sampling
from trimtab.tasks.diffusion.autoencoder import eight_bits
from trimtab.tasks.diffusion.draws import normals
from trimtab.tasks.diffusion.model import ImageDiffuser
from trimtab.tasks.diffusion.samplers import guided, sample
from trimtab.tasks.images.squares import slices

IMAGES_AT_ONCE = {"cuda": 1024, "cpu": 128}
"""Images of a batch, by the kind of device."""


@dataclass(frozen=True, slots=True)
class SampleRequest:
    """Images to be sampled."""

    labels: np.ndarray
    """The number of each image's class, int64."""
    keys: np.ndarray
    """What its first noise follows from, uint64."""


@torch.no_grad()
def sampled(
    model: ImageDiffuser, wanted: SampleRequest, settings: Sampling, *, device: torch.device
) -> np.ndarray:
    """The images, `images side side channels`, uint8; each follows from its label and key alone, but for rounding."""
    channels, size = model.canvas
    found = [np.empty((0, size, size, channels), np.uint8)]
    for part in slices(len(wanted.labels), IMAGES_AT_ONCE.get(device.type, 128)):
        labels = torch.from_numpy(wanted.labels[part]).to(device)
        keys = torch.from_numpy(wanted.keys[part].view(np.int64)).to(device)
        shape = (len(labels), model.channels, model.side, model.side)
        noise = normals(keys, model.channels * model.side**2).view(shape).to(model.number_type)
        images = sample(
            guided(model.predict, labels, scale=settings.guidance, no_class=model.no_class),
            noise,
            model.process,
            sampler=settings.sampler,
            steps=settings.steps,
            clip=1.0 if model.latents is None else None,
        )
        found.append(eight_bits(model.images(images)))
    return np.concatenate(found)
