"""The loss to minimize."""

from typing import Literal

from pydantic import Field

from trimtab.config.settings import Settings
from trimtab.units import Duration


class Truncate(Settings):
    """Drops tokens from the objective that look like errors in the data: those with a large error norm ||p -
    onehot(label)||, where p is the model's distribution (error norm truncation, arXiv 2310.00840).

    The norm is between 0 and sqrt 2. It is sqrt(1 + q^2) if the model gives no probability to the label and q to one
    other token, and near 1 if the model is merely unsure. Dropped tokens still count as targets of the step.
    """

    error_norm: float = Field(default=1.2, gt=0, lt=1.4143)
    """Tokens above this are dropped. 1.2 means a label without probability while another token has two thirds."""
    after: Duration = Duration(1000, "steps")
    """When truncation starts: an untrained model cannot tell errors from rare text."""


class GuidedAlignment(Settings):
    """Trains one head of the decoder's attention to the source to align words: the cross-entropy between its attention
    and the alignments of `data.train` is added for each target token (Garg et al. 2019, arXiv 1909.02074, section 4.2;
    Marian's `guided-alignment`). A token whose word has no link adds nothing; the sum is divided by the targets of the
    step like the loss."""

    weight: float = Field(default=0.1, gt=0, le=10)
    """Factor of the term. 0.1 is Marian's, 0.05 that of the paper."""
    layer: int | None = Field(default=None, ge=1)
    """Decoder layer, counted from 1; by default the last but one."""
    head: int = Field(default=1, ge=1)
    """Head of this layer, counted from 1."""

    def layer_of(self, layers: int) -> int:
        """The layer of a decoder with so many."""
        return self.layer or max(1, layers - 1)


class FeatureMatching(Settings):
    """Adds the distance between the model's last hidden vectors and those of a trained run, its teacher, for each
    target (distillation of hidden states: Romero et al. 2015, arXiv 1412.6550; Sanh et al. 2019, arXiv 1910.01108). The
    sum is divided by the targets of the step like the loss. The teacher reads the same batches, so it needs the same
    tokenizer, or the same image size and classes; its weights do not change. For translation, language models and
    image classification."""

    teacher: str
    """`RUN`, `RUN@last` or `RUN@500`, relative to the recipe's folder. If it has another `model.dim`, a fixed random
    orthonormal projection maps its vectors to that of the model."""
    weight: float = Field(default=1.0, gt=0, le=1000)
    """Factor of the term."""
    distance: Literal["cosine", "mse"] = "cosine"
    """1 minus the cosine of the angle, or the mean square of the difference."""
    sha256: str | None = None
    """SHA-256 of the teacher's weights. The run fills it in when it starts, and `teacher` with the one checkpoint that
    was meant, so that its recipe records what it learned from. If it is set, the weights must match."""


class BoxLoss(Settings):
    """The loss of a detector, for `task: detection`, which has defaults for it: each object is matched with one
    prediction (the Hungarian method), and all terms are summed over the boxes of the step and divided by their number,
    so that they do not depend on how the step is cut."""

    iou: Literal["ciou", "diou", "giou"] = "ciou"
    """How overlap is measured: CIoU and DIoU (arXiv 1911.08287), which also see the distance of the centers, and CIoU
    the aspect ratio, or GIoU (arXiv 1902.09630), as D-FINE, RT-DETR and DETR do."""
    classification: Literal["auto", "varifocal", "focal", "softmax"] = "auto"
    """Varifocal (arXiv 2008.13367), whose target is the IoU of the match, focal (arXiv 1708.02002), or cross-entropy
    with a category for no object, as in DETR. `auto` is `softmax` for a DETR with `path`, `focal` for another DETR,
    and `varifocal` for the others."""
    class_weight: float = Field(default=1.0, gt=0, le=100)
    """Weight of the classification."""
    l1_weight: float = Field(default=5.0, ge=0, le=100)
    """Weight of the L1 distance of centers and sides, as shares of the canvas."""
    iou_weight: float = Field(default=2.0, ge=0, le=100)
    """Weight of 1 - IoU."""


class CrossEntropyLoss(Settings):
    """Cross-entropy over the vocabulary, summed over targets and divided by the number of targets of the step."""

    kind: Literal["cross_entropy"] = "cross_entropy"
    label_smoothing: float = Field(default=0.1, ge=0, lt=1)
    """Share of the probability spread over the vocabulary (Szegedy et al. 2015, arXiv 1512.00567, section 7)."""
    z_loss: float = Field(default=0.0, ge=0, le=1)
    """Weight of (log Z)², which keeps logits from drifting (PaLM, arXiv 2204.02311, section 5)."""
    truncate: Truncate | None = None
    """Which tokens to drop, for noisy data; by default none."""
    guided_alignment: GuidedAlignment | None = None
    """Trains a head to align words, with the `alignments` of `data.train`; by default none."""
    feature_matching: FeatureMatching | None = None
    """Also matches the hidden vectors of a trained run; by default none."""
    boxes: BoxLoss | None = None
    """The loss of a detector, for `task: detection`, in place of the cross-entropy."""


LossConfig = CrossEntropyLoss
