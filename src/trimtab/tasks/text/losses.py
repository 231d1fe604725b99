"""What a model that has an output matrix is trained on: the loss of each label by it, a token or a class."""

import math
from dataclasses import replace
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from trimtab.config.loss import GuidedAlignment
from trimtab.config.run import Recipe
from trimtab.config.transformers_model import TransformersModel
from trimtab.inference.load import load_model
from trimtab.loss.build import Loss, build_loss
from trimtab.loss.guided_alignment import alignment_loss
from trimtab.model.encoder_decoder import EncoderDecoder
from trimtab.model.module.module_model import ModuleModel
from trimtab.model.router import router_losses
from trimtab.model.source_attention import forward_aligned
from trimtab.model.transformer import Transformer
from trimtab.tasks.task import Untrained
from trimtab.tasks.teacher import Teacher, open_teacher
from trimtab.tasks.text.datasets import TextDatasets
from trimtab.types import IGNORE, LossOutput, PackedBatch


@runtime_checkable
class Labelled(Protocol):
    """A micro-batch of which each vector that the model gives has a label."""

    @property
    def labels(self) -> Int[Tensor, "targets"]:
        """Numbers of rows of the output matrix; IGNORE where none counts."""
        ...


class OutputMatrixLoss:
    """Cross-entropy of each label of a batch, as the recipe asks for it; see `tasks.task.ComputesLoss`."""

    def __init__(self, loss: Loss, teacher: Teacher | None = None) -> None:
        self.loss, self.teacher = loss, teacher

    @property
    def truncating(self) -> bool:
        """Whether the labels with the largest errors are left out."""
        return self.loss.truncating

    @truncating.setter
    def truncating(self, value: bool) -> None:
        self.loss.truncating = value

    def __call__(self, model: Transformer | ModuleModel, batch: Labelled) -> LossOutput:
        """Summed over the targets of a batch; what routers add is a part of the objective, not of the
        loss."""
        hidden = model(batch)
        return self.with_added(self.loss(hidden, model.output_matrix, batch.labels), hidden, model, batch)

    def with_added(
        self,
        found: LossOutput,
        hidden: Float[Tensor, "targets width"],
        model: Transformer | ModuleModel,
        batch: Labelled,
    ) -> LossOutput:
        """The loss with the terms of routers and of a teacher in its objective."""
        found = with_routers(found, model, batch)
        if self.teacher is None:
            return found
        return self.teacher.add_distance(found, hidden, batch, labels=batch.labels, training=model.training)


class GuidedLoss(OutputMatrixLoss):
    """The same with a head that learns alignments, for packs that have links."""

    def __init__(self, loss: Loss, config: GuidedAlignment, teacher: Teacher | None = None) -> None:
        super().__init__(loss, teacher)
        self.config = config

    def __call__(self, model: EncoderDecoder, batch: PackedBatch) -> LossOutput:
        """Summed over the targets of a pack; the alignment is a part of the objective, not of the loss."""
        if batch.links is None:
            return super().__call__(model, batch)
        layer = self.config.layer_of(len(model.decoder.blocks))
        hidden, queries, keys = forward_aligned(model, batch, layer=layer, head=self.config.head)
        found = self.with_added(self.loss(hidden, model.output_matrix, batch.labels), hidden, model, batch)
        aligned = alignment_loss(queries, keys, batch.links, target=batch.target, source=batch.source)
        return replace(found, objective=found.objective + self.config.weight * aligned)


def with_routers(found: LossOutput, model: nn.Module, batch: Labelled) -> LossOutput:
    """The loss with that of the routers in its objective, once for each target, so that it does not depend on how long
    the batch is."""
    routers = router_losses(model)
    if routers is None:
        return found
    return replace(found, objective=found.objective + routers * (batch.labels != IGNORE).sum())


def build_text_loss(recipe: Recipe, datasets: TextDatasets, *, device: torch.device) -> OutputMatrixLoss:
    """The loss of a recipe on the device."""
    cap = recipe.model.logit_cap if isinstance(recipe.model, TransformersModel) else None
    loss = build_loss(recipe.loss, num_ids=datasets.tokenizer.num_ids, device=device, logit_cap=cap)
    guided = recipe.loss.guided_alignment
    teacher = text_teacher(recipe, datasets, device=device)
    return OutputMatrixLoss(loss, teacher) if guided is None else GuidedLoss(loss, guided, teacher)


def text_teacher(recipe: Recipe, datasets: TextDatasets, *, device: torch.device) -> Teacher | None:
    """The trained run whose hidden vectors are matched; None for none. Raises InputError where it has another tokenizer
    or is of another task."""
    if recipe.loss.feature_matching is None:
        return None
    trained = load_model(recipe.loss.feature_matching.teacher, device=str(device))
    same = trained.tokenizers.fingerprints == datasets.tokenizers.fingerprints
    same = same and trained.recipe.task == recipe.task
    return open_teacher(recipe, trained, same_input=same, what="task and tokenizer", device=device)


def untrained(datasets: TextDatasets) -> Untrained:
    """Each token costs a model that knows nothing the logarithm of the vocabulary."""
    return Untrained(math.log(datasets.tokenizer.num_ids), "ln(vocabulary)")
