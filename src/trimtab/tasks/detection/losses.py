"""The loss of a detector: categories, L1 and IoU of the boxes that match objects, summed over the boxes of a batch."""

from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

from trimtab.config.detector_model import DetectorModel
from trimtab.config.loss import BoxLoss
from trimtab.loss.box_classes import focal_loss, softmax_loss, varifocal_loss
from trimtab.loss.box_iou import box_iou, corners
from trimtab.tasks.detection.batches import BoxBatch
from trimtab.tasks.detection.matching import image_indices, match
from trimtab.tasks.detection.model import Detector, Predictions
from trimtab.types import LossOutput

Classification = Literal["varifocal", "focal", "softmax"]


def classification_of(config: BoxLoss, model: DetectorModel) -> Classification:
    """What `loss.boxes.classification` is for a model."""
    if config.classification != "auto":
        return config.classification
    if model.architecture == "detr":
        return "softmax" if model.path else "focal"
    return "varifocal"


class DetectionLoss:
    """See `tasks.task.ComputesLoss`. The objective has the predictions of every layer, the loss those of the last; both
    are sums, which the step divides by its number of boxes, however it is cut."""

    def __init__(self, config: BoxLoss, model: DetectorModel) -> None:
        self.config = config
        self.classification: Classification = classification_of(config, model)
        self.truncating = False

    def __call__(self, model: Detector, batch: BoxBatch) -> LossOutput:
        """The sum over the boxes of a batch."""
        losses = self.by_image(model.predict(batch), batch)
        return LossOutput(losses.sum(), losses[-1].sum().detach())

    def by_image(self, found: Predictions, batch: BoxBatch) -> Float[Tensor, "layers images"]:
        """The weighted sum of the terms, for each layer and image."""
        logits, boxes = found.logits, found.boxes
        targets = batch.categories, batch.boxes
        softmax = self.classification == "softmax"
        queries = match(logits, boxes, targets, batch.counts, softmax=softmax)
        images_of_objects = image_indices(batch.counts, logits.device)
        layers = torch.arange(len(logits), device=logits.device)[:, None]
        matched = boxes[layers, images_of_objects, queries]
        wanted = batch.boxes.to(matched.dtype).expand_as(matched)
        one, other = corners(matched), corners(wanted)
        overlap = 1 - box_iou(one, other, self.config.iou)
        distance = (matched - wanted).abs().sum(-1)
        of_boxes = self.config.iou_weight * overlap + self.config.l1_weight * distance
        sums = logits.new_zeros(logits.shape[:2]).index_add(1, images_of_objects, of_boxes)
        quality = box_iou(one, other).detach().clamp(0, 1)
        classes = self._classes(logits, (layers, images_of_objects, queries, batch.categories), quality)
        return sums + self.config.class_weight * classes.sum(-1)

    def _classes(
        self,
        logits: Float[Tensor, "layers images queries categories"],
        places: tuple[Int[Tensor, "layers 1"], Int[Tensor, "objects"], Int[Tensor, "layers objects"], Tensor],
        quality: Float[Tensor, "layers objects"],
    ) -> Float[Tensor, "layers images queries"]:
        layers, images_of_objects, queries, categories = places
        if self.classification == "softmax":
            none = logits.shape[-1] - 1
            wanted = torch.full(logits.shape[:-1], none, device=logits.device)
            wanted[layers, images_of_objects, queries] = categories.expand_as(queries)
            return softmax_loss(logits, wanted)
        varifocal = self.classification == "varifocal"
        target = torch.zeros_like(logits)
        target[layers, images_of_objects, queries, categories.expand_as(queries)] = (
            quality if varifocal else 1.0
        )
        return varifocal_loss(logits, target) if varifocal else focal_loss(logits, target)
