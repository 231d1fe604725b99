"""The shape of a detector: one of the DETR family, whose layers are a module of Hugging Face's transformers."""

from typing import Any, ClassVar, Literal, cast

from pydantic import Field, model_validator

from trimtab.config.model_settings import ModelSettings
from trimtab.config.presets import filled_from_preset
from trimtab.config.settings import refused

Architecture = Literal["d_fine", "rt_detr_v2", "deimv2", "detr"]
DetectorPreset = Literal["tiny", "small", "base", "big"]

DETECTOR_PRESETS: dict[str, dict[str, int]] = {
    "tiny": {"dim": 64, "heads": 4, "decoder_layers": 3, "feed_forward": 128, "backbone_width": 32},
    "small": {"dim": 128, "heads": 8, "decoder_layers": 3, "feed_forward": 512, "backbone_width": 64},
    "base": {"dim": 256, "heads": 8, "decoder_layers": 4, "feed_forward": 1024, "backbone_width": 96},
    "big": {"dim": 256, "heads": 8, "decoder_layers": 6, "feed_forward": 1024, "backbone_width": 128},
}


class DetectorModel(ModelSettings):
    """A detector that predicts a set of boxes (DETR, arXiv 2005.12872): D-FINE (arXiv 2410.13842), RT-DETRv2 (arXiv
    2407.17140), DEIMv2 (arXiv 2509.20787) or DETR itself. transformers computes the layers; trimtab matches, computes
    the loss, batches and saves. Without `path` the weights begin at random and nothing is downloaded."""

    has_encoder: ClassVar[bool] = True
    reads_prefix: ClassVar[bool] = False
    needs_padding: ClassVar[bool] = True
    tie_embeddings: ClassVar[bool] = False
    explains_recording: ClassVar[bool] = True
    kept_from_start: ClassVar[tuple[str, ...]] = ("sha256", "settings")
    no_plan: ClassVar[str] = (
        "a detector has no plan: what its convolutions keep for the backward pass is not known"
    )

    kind: Literal["detector"] = "detector"
    architecture: Architecture = "d_fine"
    """Which detector. D-FINE refines distributions over the edges of boxes and is the best for its size; DETR is the
    simplest and needs by far the longest training."""
    preset: DetectorPreset | None = None
    """Fills dim, heads, decoder_layers, feed_forward and backbone_width; what is written beside it wins."""
    path: str = ""
    """A folder with config.json and *.safetensors of a detector of this architecture, to fine-tune; relative to the
    recipe's folder. The sizes below are then those of the folder. Heads for other categories begin untrained."""
    sha256: str | None = None
    """SHA-256 of the weights. The run fills it in when it starts. If it is set, the weights must match."""
    settings: str = Field(default="", max_length=1_000_000)
    """What config.json of `path` says, as one line of JSON, so that the run needs the folder once; read from it."""
    warm_start: str | None = None
    """A detection RUN whose weights this one begins with, as far as `warm_start_part` says; relative to the recipe's
    folder."""
    warm_start_sha256: str | None = None
    """SHA-256 of these weights. The run fills it in when it starts."""
    warm_start_part: Literal["all", "backbone"] = "all"
    """`all` takes over everything but heads for other categories; `backbone` the backbone alone, under a detector of
    another architecture or size."""
    backbone: Literal["hgnet", "resnet"] = "hgnet"
    """The convolutional network under the detector: HGNetV2, as in D-FINE, or ResNet with basic blocks."""
    backbone_width: int = Field(default=32, ge=16, le=512, multiple_of=16)
    """Channels of the first stage; each of the other three has twice as many as the one before."""
    dim: int = Field(default=0, ge=16, le=4096)
    """Width of the transformer; from the preset where one is named."""
    heads: int = Field(default=0, ge=1, le=256)
    """Attention heads; they divide dim."""
    encoder_layers: int = Field(default=1, ge=1, le=24)
    """Transformer layers over the coarsest features."""
    decoder_layers: int = Field(default=3, ge=2, le=24)
    """Layers that refine the boxes, at least 2."""
    feed_forward: int = Field(default=0, ge=16, le=65536)
    """Width between the two linear maps of a feed-forward block."""
    queries: int = Field(default=300, ge=1, le=5000)
    """How many boxes are predicted for an image; images with more boxes than this are refused."""
    dropout: float = Field(default=0.0, ge=0, lt=1)
    """On the outputs of the sub-layers of the transformer."""
    batch_norm: Literal["auto", "live", "frozen", "group"] = "auto"
    """`live` normalizes by the statistics of the micro-batch, as training from scratch needs; `frozen` by stored ones,
    for pretrained weights and small batches; `group` puts GroupNorm (arXiv 1803.08494) in its place, so that a step
    does not depend on how it is cut. `auto` is `frozen` with trained weights of `path` or `warm_start`, otherwise
    `live`. With `warm_start_part: backbone`, `frozen` applies to the norms of the backbone only; the others are `live`.
    The defaults of transformers freeze it even for random weights, with which a detector learns next to
    nothing."""
    score_threshold: float = Field(default=0.4, ge=0, lt=1)
    """Predictions below this are not objects, where one has to decide: in `trimtab detect`, precision and recall. AP
    uses all predictions."""
    nms: Literal["none", "iou", "iou_containment"] = "iou"
    """How duplicates are removed: boxes of a category that overlap a better one by `nms_iou`; with `iou_containment`
    also those of which `nms_contained` lies inside a better one, which nested duplicates need."""
    nms_iou: float = Field(default=0.7, gt=0, le=1)
    """IoU above which the box with the lower score is removed. Lower values remove more true neighbours."""
    nms_contained: float = Field(default=0.8, gt=0, le=1)
    """Share of a box that must lie inside a better one for it to go."""

    @model_validator(mode="before")
    @classmethod
    def _fill_preset(cls, value: Any) -> Any:
        given = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
        if given.get("path") and given.get("preset") is None:
            return {**DETECTOR_PRESETS["base"], **given}  # the folder has its own
        return filled_from_preset(value, DETECTOR_PRESETS)

    @model_validator(mode="after")
    def _sizes_fit(self) -> "DetectorModel":
        if self.dim % self.heads or self.dim // self.heads % 2:
            raise refused(
                "heads",
                "do not divide dim into even parts",
                got=f"dim {self.dim}, heads {self.heads}",
                allowed="a number of heads that divides dim, with an even width for each",
                fix="set `dim: 128, heads: 8`",
            )
        if self.path and self.warm_start is not None:
            raise refused(
                "warm_start",
                "given beside `path`, which has weights too",
                got="both",
                allowed="one of them",
                fix="leave one of them out",
            )
        return self

    @property
    def norms(self) -> Literal["live", "frozen", "group"]:
        """What `batch_norm` is."""
        if self.batch_norm != "auto":
            return self.batch_norm
        return "frozen" if self.path or self.warm_start is not None else "live"

    @property
    def begins_with_backbone(self) -> bool:
        """Whether the backbone alone begins with trained weights."""
        return self.warm_start is not None and self.warm_start_part == "backbone"

    @property
    def pretrained_path(self) -> str:
        """See `ModelSettings.pretrained_path`."""
        return self.path

    @property
    def pretrained_sha256(self) -> str | None:
        """See `ModelSettings.pretrained_sha256`."""
        return self.sha256
