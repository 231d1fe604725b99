"""A model, corpora, a tokenizer, transforms or metrics that are for another task than the recipe's."""

from collections.abc import Iterator

from trimtab.config.complaint import Complaint
from trimtab.config.run import Recipe
from trimtab.config.task_facts import facts_of
from trimtab.config.task_record import TASKS
from trimtab.config.tasks.detection import box_contradictions
from trimtab.config.tasks.guided_alignment import alignment_contradictions
from trimtab.config.tasks.modular import modular_contradictions
from trimtab.config.tasks.recognition import image_contradictions
from trimtab.config.tasks.source_factors import factor_contradictions
from trimtab.metrics.catalogue import metric_of, metrics_in

VECTOR_TASKS = ("translation", "language_model", "image_classification")
"""Tasks whose models give one vector for each target, which `loss.feature_matching` needs."""
NO_TERMS = ("kind", "guided_alignment", "feature_matching", "boxes")
"""Keys of the loss that are no terms of the cross-entropy, or are checked for all tasks by themselves."""


def task_contradictions(recipe: Recipe) -> Iterator[Complaint]:
    """What holds for every task, then what the recipe's own task says."""
    yield from _model_kind(recipe)
    yield from _metrics(recipe)
    yield from alignment_contradictions(recipe)
    yield from loss_contradictions(recipe)
    yield from feature_contradictions(recipe)
    yield from factor_contradictions(recipe)
    yield from modular_contradictions(recipe)
    if not recipe.facts.reads_images:
        yield from image_contradictions(recipe)
    if not recipe.facts.finds_boxes:
        yield from box_contradictions(recipe)
    yield from recipe.facts.contradictions(recipe)


def loss_contradictions(recipe: Recipe) -> Iterator[Complaint]:
    """Terms of the cross-entropy for a task that has another loss."""
    other = recipe.facts.other_loss(recipe)
    if other is None:
        return
    for key in type(recipe.loss).model_fields:
        value = getattr(recipe.loss, key)
        if value and key not in NO_TERMS:
            yield Complaint(
                path=f"loss.{key}",
                what=other.without_terms,
                got=f"{value if isinstance(value, float) else key}, with task {recipe.task}",
                fix=other.fix,
            )


def feature_contradictions(recipe: Recipe) -> Iterator[Complaint]:
    """Feature matching for another task, and for models whose vectors are not one for each target of one kind."""
    if recipe.loss.feature_matching is None:
        return
    if recipe.task not in VECTOR_TASKS:
        yield Complaint(
            path="loss.feature_matching",
            what="feature matching needs a model with one vector for each target",
            got=f"feature_matching, with task {recipe.task}",
            allowed=" or ".join(f"task {each}" for each in VECTOR_TASKS),
            fix="leave it out",
        )
    elif recipe.model.kind in ("modular", "transformers"):
        yield Complaint(
            path="loss.feature_matching",
            what="feature matching does not support this kind of model",
            got=f"feature_matching, with model.kind: {recipe.model.kind}",
            allowed="another kind, such as encoder_decoder, decoder or x_transformers",
            fix="leave it out",
        )


def _model_kind(recipe: Recipe) -> Iterator[Complaint]:
    kind, facts = recipe.model.kind, recipe.facts
    if kind not in facts.model_kinds:
        others = [each for each in TASKS if kind in facts_of(each).model_kinds]
        yield Complaint(
            path="model.kind",
            what=facts.other_kinds,
            got=f"{kind}, with task {recipe.task}",
            allowed=" or ".join(facts.model_kinds),
            fix=" or ".join(
                [f"set `model.kind: {facts.model_kinds[0]}`,", *(f"`task: {each}`" for each in others)]
            ),
        )


def _metrics(recipe: Recipe) -> Iterator[Complaint]:
    texts = recipe.facts.continues_texts and any(
        files.text is not None for files in recipe.data.valid.values()
    )
    groups = recipe.facts.metrics
    if texts:
        groups = groups[:1]  # the sets are documents, of which nothing is translated
    allowed = [name for group in groups for name in metrics_in(group)]
    for place, metric in enumerate(recipe.evaluate.metrics):
        if metric != "loss" and metric not in allowed:
            kept = [each for each in recipe.evaluate.metrics if each in allowed] or ["loss"]
            yield Complaint(
                path=f"evaluate.metrics.{place}",
                what="a language model of texts translates nothing" if texts else metric_of(metric).measures,
                got=metric,
                allowed=" or ".join(sorted({"loss", *allowed})),
                fix=f"set `evaluate.metrics: [{', '.join(kept)}]`",
            )
