"""Batches of another kind than text: small images with a label each, and a model that scores the labels."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from trimtab.types import LossOutput


@dataclass(frozen=True)
class ImageBatch:
    """Images and labels; nothing in it is a token."""

    images: Tensor
    labels: Tensor

    @property
    def num_targets(self):
        return len(self.labels)

    num_tokens = num_slots = num_targets

    @property
    def device(self):
        return self.images.device

    @property
    def static_key(self):
        return self.images.shape

    def tensors(self):
        return [self.images, self.labels]

    def to(self, device):
        return ImageBatch(self.images.to(device), self.labels.to(device))

    def pin(self):
        return ImageBatch(self.images.pin_memory(), self.labels.pin_memory())

    def clone(self):
        return ImageBatch(self.images.clone(), self.labels.clone())

    def blank(self):
        return ImageBatch(self.images.clone(), torch.full_like(self.labels, -100))


def image_batches(*sizes, seed=0):
    """One batch for each size, with so many images; the same seed gives the same images however they are cut."""
    generator = torch.Generator().manual_seed(seed)
    count = sum(sizes)
    images = torch.rand(count, 3, 8, 8, generator=generator)
    labels = torch.randint(5, (count,), generator=generator)
    return [ImageBatch(*cut) for cut in zip(images.split(sizes), labels.split(sizes), strict=True)]


class ImageModel(nn.Module):
    """Two linear maps of the pixels; the same weights each time. Its forward pass gives the loss."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.inner, self.outer = nn.Linear(192, 8), nn.Linear(8, 5)

    def forward(self, batch):
        scores = self.outer(self.inner(batch.images.flatten(1)).relu())
        loss = nn.functional.cross_entropy(scores, batch.labels, reduction="sum")
        return LossOutput(loss, loss.detach())
