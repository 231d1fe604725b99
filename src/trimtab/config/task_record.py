"""The tasks by name, and what a task determines about a recipe: defaults, kinds of model, rows, what contradicts it.

Torch-free; what the task does with data and model is in `trimtab.tasks`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

from trimtab.config.complaint import Complaint
from trimtab.metrics.metric import MetricGroup

Task = Literal[
    "translation",
    "language_model",
    "classification",
    "image_classification",
    "recognition",
    "detection",
    "diffusion",
]
TASKS: tuple[Task, ...] = get_args(Task)
IDENTITY = "identity"
"""How sentencepiece normalises for language models: not at all, so that a text comes back as it was."""


class OtherLoss(NamedTuple):
    """A loss in place of the cross-entropy, which has none of its terms."""

    without_terms: str
    """Why it has none, as in `a term of the cross-entropy; ...`."""
    fix: str = "remove it"


def cross_entropy(recipe: Any) -> OtherLoss | None:
    """The loss is the cross-entropy."""
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFacts:
    """What a recipe's task decides."""

    model_kinds: tuple[str, ...]
    """The kinds of model that it takes, the usual one first."""
    other_kinds: str
    """What is wrong with any other kind."""
    one_row: bool
    """Whether source and target share one row, a vocabulary and `data.max_tokens`."""
    scores_follow_from_the_loss: bool
    """Whether its own metrics follow from the loss; otherwise validation sets are translated for them."""
    metrics: tuple[MetricGroup, ...]
    """Which groups of metrics it has, its usual ones first."""
    attends_to_source: bool = False
    """Whether a decoder attends to a source apart, which is what aligns words."""
    continues_texts: bool = False
    """Whether the model goes on from what it reads, so that it translates only where it reads pairs."""
    one_target: bool = False
    """Whether an example has one target, whatever its length in tokens; what counts in the loss is then examples."""
    targets: str = "target tokens"
    """What counts in the loss, in messages."""
    in_a_step: str = ""
    """What `step.tokens_per_step` counts, where it is not these targets."""
    each_target: str = "a token"
    """One of them, as in `loss 3.2 a token`."""
    loss_unit: str = "nats per target token"
    """What the loss is measured in."""
    tokens: str = "tokens"
    """What `tokens` and `tokens_per_second` of the metrics count."""
    batches: tuple[str, str] = ("pack", "packs")
    """What a step is cut into: one of them, and several."""
    mismatch: str = "source and target are aligned"
    """What to look for in the data where a model cannot learn it."""
    writes_text: bool = True
    """Whether the model writes text, so that it can translate, generate, be scored by its texts and be exported."""
    examples: str = "pairs of texts"
    """What the data consists of, in messages."""
    reads_images: bool = False
    """Whether the input is images in place of text."""
    command: str
    """The command that uses the model."""
    pretrained: str = ""
    """The families of pretrained models that it can start from, in words; empty where there are none."""
    finds_boxes: bool = False
    """Whether the model finds boxes in images."""
    contradictions: Callable[[Any], Iterator[Complaint]]
    """What of a recipe is for another task, or does not fit across keys."""
    defaults: tuple[tuple[str, Any], ...] = ()
    """Of keys that have another default than the recipe's, by dotted path."""
    other_loss: Callable[[Any], OtherLoss | None] = cross_entropy
    """`(recipe)`: the loss that it has in place of the cross-entropy; None where it has that."""
    normalization: str | None = None
    """Default of `data.tokenizer.normalization` for sentencepiece; None for the tokenizer's own."""

    @property
    def counted(self) -> str:
        """What `step.tokens_per_step` counts, in messages."""
        return self.in_a_step or self.targets

    def targets_of_longest(self, max_tokens: int) -> int:
        """Targets of an example of `data.max_tokens`, which the smallest batch has to hold."""
        return 1 if self.one_target else max_tokens
