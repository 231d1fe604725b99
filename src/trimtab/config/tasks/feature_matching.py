"""What keeps hidden vectors from being matched with those of a teacher (`loss.feature_matching`)."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from trimtab.config.complaint import Complaint

if TYPE_CHECKING:
    from trimtab.config.run import Recipe

KEY = "loss.feature_matching"
TASKS = ("translation", "language_model", "image_classification")
"""Whose models give one vector for each target."""


def feature_contradictions(recipe: "Recipe") -> Iterator[Complaint]:
    """Another task, and models whose vectors are not one for each target of one kind."""
    if recipe.loss.feature_matching is None:
        return
    if recipe.task not in TASKS:
        yield Complaint(
            path=KEY,
            what="only models that give one vector for each target have vectors to match",
            got=f"feature_matching, with task {recipe.task}",
            allowed=" or ".join(f"task {each}" for each in TASKS),
            fix="leave it out",
        )
    elif recipe.model.kind in ("modular", "transformers"):
        yield Complaint(
            path=KEY,
            what="feature matching does not support this kind of model",
            got=f"feature_matching, with model.kind: {recipe.model.kind}",
            allowed="another kind, such as encoder_decoder, decoder or x_transformers",
            fix="leave it out",
        )
