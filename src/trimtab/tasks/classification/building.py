"""What a recipe makes of the opened data: batches, the stream of steps, the model."""

import math
from functools import partial

import torch

from trimtab.config.encoder_model import EncoderModel
from trimtab.config.run import Recipe
from trimtab.config.transformers_model import TransformersModel
from trimtab.data.fitting_vocabulary import with_sizes
from trimtab.data.stored_tokenizer import AnyTokenizer
from trimtab.loss.build import build_loss
from trimtab.model.module.classifier import ModuleClassifier
from trimtab.tasks.classification.batches import Batching, LabelledTexts, plan_shape
from trimtab.tasks.classification.datasets import Labelled
from trimtab.tasks.classification.model import SequenceClassifier
from trimtab.tasks.stream import mixture_opener, step_size
from trimtab.tasks.task import OpenMixture, Untrained
from trimtab.tasks.text.losses import OutputMatrixLoss


def plan_batches(
    recipe: Recipe, datasets: Labelled, *, packed: bool, device: torch.device, ranks: int = 1
) -> Batching:
    """The batches of the run; `packed` gives them one shape, for kernels that are compiled once."""
    lengths = datasets.sample.source.lengths
    return Batching(
        shape=plan_shape(
            recipe.step,
            lengths,
            max_tokens=recipe.data.max_tokens,
            packed=packed,
            ranks=ranks,
            device=device.type,
        ),
        pad=datasets.tokenizer.pad,
        tokens_at=partial(step_size, recipe.step),
        device=device,
    )


def with_vocabulary_size(recipe: Recipe, datasets: Labelled) -> Recipe:
    """The recipe with the size that its vocabulary came out with."""
    tokenizer = datasets.tokenizer
    return recipe.model_copy(update={"data": with_sizes(recipe.data, source=tokenizer, target=tokenizer)})


def open_mixtures(recipe: Recipe, datasets: Labelled) -> OpenMixture:
    """See `Task.open_mixture`."""
    return mixture_opener(recipe, datasets.feed, batch=LabelledTexts, max_targets=1)


def build_classifier(
    recipe: Recipe, datasets: Labelled, *, device: torch.device
) -> SequenceClassifier | ModuleClassifier:
    """The model with its first weights, sized by the vocabulary and the labels."""
    return classifier_of(recipe, datasets.tokenizer, num_labels=len(datasets.labels)).to(device)


def classifier_of(
    recipe: Recipe, tokenizer: AnyTokenizer, *, num_labels: int
) -> SequenceClassifier | ModuleClassifier:
    """The model that a recipe describes, on the CPU, with its first weights, which follow from the recipe's seed."""
    if isinstance(recipe.model, TransformersModel):
        return ModuleClassifier(
            recipe.model,
            num_labels=num_labels,
            max_positions=recipe.max_positions,
            pad=tokenizer.pad,
            seed=recipe.seed,
        )
    assert isinstance(recipe.model, EncoderModel), "other kinds are refused with the recipe"
    return SequenceClassifier(
        recipe.model,
        num_labels=num_labels,
        num_pieces=tokenizer.num_ids,
        max_positions=recipe.max_positions,
        seed=recipe.seed,
    )


def build_label_loss(recipe: Recipe, datasets: Labelled, *, device: torch.device) -> OutputMatrixLoss:
    """The loss of a recipe on the device."""
    return OutputMatrixLoss(build_loss(recipe.loss, num_ids=len(datasets.labels), device=device))


def untrained(datasets: Labelled) -> Untrained:
    """Each example costs a model that knows nothing the logarithm of the number of labels."""
    return Untrained(math.log(len(datasets.labels)), "ln(labels)")
