"""The trained model whose hidden vectors a run matches, for tasks whose models give a vector for each target."""

from dataclasses import replace
from typing import Any, Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from trimtab.config.loss import FeatureMatching
from trimtab.config.run import Recipe
from trimtab.errors import input_error
from trimtab.inference.chosen_weights import named_place, weights_sha256
from trimtab.tasks.task import ComputesLoss
from trimtab.types import IGNORE, LossOutput

KEY = "loss.feature_matching.teacher"


class Teacher:
    """Adds the distance between the vectors of two models to an objective (`loss.feature_matching`)."""

    def __init__(self, model: nn.Module, config: FeatureMatching, *, dim: int, device: torch.device) -> None:
        """`model` is trained and stays as it is; `dim` is the width of the model that learns."""
        self.model, self.config = model.eval().requires_grad_(False), config
        width: Any = model.dim
        same = width == dim
        self.projection = None if same else projection(width, dim, seed=0).to(device)

    def add_distance(
        self,
        found: LossOutput,
        hidden: Float[Tensor, "targets dim"],
        batch: Any,
        *,
        labels: Int[Tensor, "targets"],
        training: bool,
    ) -> LossOutput:
        """The loss of a batch with the distance in its objective, a sum over targets; in evaluation as it is."""
        if not training:
            return found
        with torch.no_grad():
            wanted = self.model(batch).float()
            wanted = wanted if self.projection is None else wanted @ self.projection.T
        apart = feature_distance(hidden, wanted, labels, distance=self.config.distance)
        return replace(found, objective=found.objective + self.config.weight * apart)


def open_teacher(
    recipe: Recipe, trained: Any, *, same_input: bool, what: str, device: torch.device
) -> Teacher:
    """The teacher of a recipe from its loaded run. Raises InputError where it reads something else than the run that
    learns, `what` being what must be the same, or its weights are not those that the recipe names. Its `config` has
    the very checkpoint and the sha256 of its weights."""
    config = recipe.loss.feature_matching
    assert config is not None, "the recipe has a teacher"
    if not same_input:
        raise input_error(
            f"{KEY}: {config.teacher} reads other inputs than this run",
            got=f"another {what}",
            allowed=f"a run with the same {what}",
            fix="name a run with the same inputs, or use the tokenizer or image settings of that run",
        )
    found = weights_sha256(trained.checkpoint, trained.recipe)
    if config.sha256 not in (None, found):
        raise input_error(
            f"loss.feature_matching.sha256: {config.teacher} holds other weights",
            got=found,
            allowed=config.sha256 or "",
            fix="name the checkpoint that is meant, or leave sha256 out",
        )
    if trained.model.max_positions < recipe.data.max_tokens and not recipe.facts.reads_images:
        raise input_error(
            f"{KEY}: {config.teacher} has too few positions for the texts of this run",
            got=f"{trained.model.max_positions}",
            allowed=f"at least {recipe.data.max_tokens}, which is data.max_tokens",
            fix=f"set `data.max_tokens: {trained.model.max_positions}`",
        )
    place = named_place(config.teacher, trained.checkpoint, trained.recipe)
    config = config.model_copy(update={"teacher": place, "sha256": found})
    return Teacher(trained.model, config, dim=recipe.model.dim, device=device)


def with_found_teacher(recipe: Recipe, loss: ComputesLoss) -> Recipe:
    """The recipe with the one checkpoint of the teacher that its loss has opened, and the sha256 of its weights."""
    teacher = getattr(loss, "teacher", None)
    if not isinstance(teacher, Teacher):
        return recipe
    return recipe.model_copy(
        update={"loss": recipe.loss.model_copy(update={"feature_matching": teacher.config})}
    )


def feature_distance(
    hidden: Float[Tensor, "targets dim"],
    wanted: Float[Tensor, "targets dim"],
    labels: Int[Tensor, "targets"],
    *,
    distance: Literal["cosine", "mse"],
) -> Float[Tensor, ""]:
    """Summed over the targets that count, in float32: 1 minus the cosine of the angle (DistilBERT, Sanh et al. 2019,
    arXiv 1910.01108, section 2), or the mean square of the difference (FitNets, Romero et al. 2015, arXiv 1412.6550,
    equation 3)."""
    hidden, wanted = hidden.float(), wanted.float()
    apart = (
        1 - F.cosine_similarity(hidden, wanted, dim=-1)
        if distance == "cosine"
        else (hidden - wanted).square().mean(-1)
    )
    return torch.where(labels != IGNORE, apart, 0.0).sum()


def projection(of: int, to: int, *, seed: int) -> Float[Tensor, "to of"]:
    """A fixed map between vectors of two widths that keeps angles as far as it can: random orthonormal rows, or columns
    where it is to a wider space (Johnson and Lindenstrauss 1984)."""
    generator = torch.Generator().manual_seed(seed)
    wide, narrow = max(of, to), min(of, to)
    orthogonal, _ = torch.linalg.qr(torch.randn(wide, narrow, generator=generator))
    if to == wide:
        return orthogonal
    return orthogonal.T * (wide / narrow) ** 0.5  # so that lengths stay, on average
