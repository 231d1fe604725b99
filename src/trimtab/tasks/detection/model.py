"""The detector: a module of transformers that gives categories and boxes layer by layer."""

import copy
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from trimtab.config.detector_model import DetectorModel
from trimtab.config.optimizers import Role
from trimtab.model.module.module_model import ModuleModel
from trimtab.model.pretrained import Taken
from trimtab.model.roles import role_in
from trimtab.tasks.detection.batches import BoxBatch
from trimtab.tasks.detection.letterbox import MEAN, STD
from trimtab.tasks.detection.networks import new_network
from trimtab.tasks.detection.norms import BatchStatistics, StepBatchNorm, replace_norms
from trimtab.tasks.detection.starting import BACKBONES, take_folder

HEADS = ("class_embed", "bbox_embed", "enc_score_head", "class_labels_classifier")
"""What depends on the categories, in names of weights."""


@dataclass(frozen=True, slots=True)
class Predictions:
    """What a detector predicts, in float32 or wider."""

    logits: Float[Tensor, "layers images queries categories"]
    """Of each layer, the last one last; before them, where there is one, the proposals of the encoder."""
    boxes: Float[Tensor, "layers images queries 4"]
    """Center, width and height as shares of the canvas."""


class Detector(ModuleModel):
    """A detector of transformers behind `types.TrainableModel`. Names of weights are `network.` and theirs."""

    def __init__(self, config: DetectorModel, *, num_labels: int, seed: int) -> None:
        network = new_network(config, num_labels=num_labels, seed=seed)
        replace_norms(network, config.norms, trained=BACKBONES if config.begins_with_backbone else ("",))
        super().__init__(config, network, num_ids=num_labels, max_positions=1)
        self.detector = config
        self.begins_zero = frozenset(
            name for name, weight in self.named_parameters() if weight.ndim > 1 and not weight.any()
        )
        mean, std = (torch.tensor(each).view(1, 3, 1, 1) * 255 for each in (MEAN, STD))
        self.register_buffer("mean", mean, persistent=False)
        self.register_buffer("std", std, persistent=False)

    def forward(self, batch: BoxBatch) -> Float[Tensor, "predictions numbers"]:
        """The logits and boxes of the last layer, of one image after another."""
        found = self.predict(batch)
        return torch.cat([found.logits[-1], found.boxes[-1]], dim=-1).flatten(0, 1)

    def predict(self, batch: BoxBatch) -> Predictions:
        """The predictions of all layers in training; in evaluation of those that the module gives."""
        return self.predicted(self.normalized(batch.pixels), batch.inner)

    def normalized(self, pixels: Tensor) -> Float[Tensor, "images 3 height width"]:
        """Pixels as pretrained backbones know them, in the precision of the weights."""
        dtype = next(self.parameters()).dtype
        return ((pixels.to(self.mean.dtype) - self.mean) / self.std).to(dtype)

    def predicted(self, pixels: Float[Tensor, "images 3 height width"], inner: Tensor | None) -> Predictions:
        """The same from normalized pixels; `inner` are the heights and widths of images on their canvases."""
        if self.detector.architecture == "detr":
            return self._of_detr(pixels, inner)
        # Boxes in half precision have steps of two pixels in 640: the convolutions may have it, the decoder does not.
        if self.detector.architecture == "deimv2":
            with in_float32(pixels.device):
                found = self.network.model(widened(pixels))
        else:
            encoded = self._encoded(pixels)
            with in_float32(pixels.device):
                found = self.network.model(None, inputs_embeds=encoded[0], encoder_outputs=(encoded,))
        logits, boxes = found.intermediate_logits, found.intermediate_reference_points
        logits, boxes = widened(logits.transpose(0, 1)), widened(boxes.transpose(0, 1))
        if self.training:
            logits = torch.cat([widened(found.enc_topk_logits)[None], logits])
            boxes = torch.cat([widened(found.enc_topk_bboxes)[None], boxes])
        return Predictions(logits, boxes)

    def _encoded(self, pixels: Float[Tensor, "images 3 height width"]) -> list[Tensor]:
        inner = self.network.model
        mask = torch.ones((len(pixels), *pixels.shape[2:]), device=pixels.device)
        features = inner.backbone(pixels, mask)
        sources = [inner.encoder_input_proj[level](each) for level, (each, _) in enumerate(features)]
        return [widened(each) for each in inner.encoder(sources).last_hidden_state]

    def _of_detr(self, pixels: Float[Tensor, "images 3 height width"], inner: Tensor | None) -> Predictions:
        mask = None if inner is None else inner_mask(inner, pixels.shape[2], pixels.shape[3])
        network = self.network
        states = network.model(pixels, pixel_mask=mask).intermediate_hidden_states
        if states.ndim == 3:
            states = states[None]
        with in_float32(pixels.device):
            states = widened(states)
            return Predictions(
                network.class_labels_classifier(states), network.bbox_predictor(states).sigmoid()
            )

    def fill(self, path: str, *, sha256: str | None = None) -> Taken:
        """Puts the weights of a folder in; see `starting.take_folder`."""
        return take_folder(self.network, self.detector.model_copy(update={"path": path, "sha256": sha256}))

    @property
    def batch_statistics(self) -> BatchStatistics | None:
        """Those of live batch norms; None where there is none, and an image is the same in every batch."""
        live = any(isinstance(each, StepBatchNorm) and each.live for each in self.modules())
        return BatchStatistics(self) if live else None

    @property
    def blocks(self) -> Sequence[nn.Module]:
        """The layers of the decoder."""
        return tuple(self.network.model.decoder.layers)

    @property
    def dim(self) -> int:
        """Width of the transformer."""
        return int(self.network.config.d_model)

    @property
    def output_bias(self) -> None:
        """Heads have biases of their own, which the loss does not need to know."""
        return None

    def fused_maps(self) -> Iterator[Any]:
        """None: there are no adapters for detectors."""
        return iter(())

    def wrongly_tied(self) -> str:
        """Heads stand twice in the module and are one; nothing else is tied."""
        return ""

    def tokens_read(self, batch: BoxBatch) -> dict[str, int]:
        """How many images are read."""
        return {"detector": batch.num_tokens}

    def role_of(self, name: str) -> Role:
        """What a parameter is for, by its name in `named_parameters`."""
        return role_in(self, name)

    def half_precision_copy(self, dtype: torch.dtype) -> "Detector":
        """A copy in float32 all the same: boxes must not be rounded. Evaluations run it under autocast."""
        return copy.deepcopy(self)

    def narrowed(self, dtype: torch.dtype) -> "Detector":
        """The model itself; a recipe with weights in bfloat16 is refused."""
        return self


def widened(x: Tensor) -> Tensor:
    """In float32, or in the precision that it has where that is more."""
    return x.to(torch.promote_types(x.dtype, torch.float32))


def in_float32(device: torch.device) -> Any:
    """A context in which nothing is rounded to half precision."""
    return (
        torch.autocast(device.type, enabled=False)
        if torch.is_autocast_enabled(device.type)
        else nullcontext()
    )


def inner_mask(inner: Tensor, height: int, width: int) -> Tensor:
    """1 where an image covers its canvas, int64, `images height width`."""
    rows = torch.arange(height, device=inner.device)[None, :, None] < inner[:, 0, None, None]
    columns = torch.arange(width, device=inner.device)[None, None, :] < inner[:, 1, None, None]
    return (rows & columns).long()
