"""The squared error of what is predicted, the mean over the numbers of an image, summed over images."""

from jaxtyping import Float
from torch import Tensor

from trimtab.tasks.diffusion.batches import DiffusionBatch
from trimtab.tasks.diffusion.model import ImageDiffuser
from trimtab.types import LossOutput


class NoiseLoss:
    """See `tasks.task.ComputesLoss`. The objective has the weights of the recipe, the loss none."""

    def __init__(self) -> None:
        self.truncating = False
        """Ignored: nothing is left out."""

    def __call__(self, model: ImageDiffuser, batch: DiffusionBatch) -> LossOutput:
        """Summed over the images of a batch that count."""
        errors = squared_errors(model, batch)
        counted = batch.counts.to(errors.dtype)
        weights = model.process.weight(batch.times.to(errors.dtype))
        return LossOutput((errors * weights * counted).sum(), (errors.detach() * counted).sum())


def squared_errors(model: ImageDiffuser, batch: DiffusionBatch) -> Float[Tensor, "images"]:
    """The mean squared error of each image, float32 or wider."""
    noised = model.noised(batch)
    return (model.predict(noised.x, batch.times, batch.labels) - noised.target).square().flatten(1).mean(1)
