"""Which weights a run begins from and which it trains: warm starts, adapters, frozen and reinitialized weights."""

from collections.abc import Iterator

from trimtab.config.adapter import LoraAdapter
from trimtab.config.complaint import Complaint
from trimtab.config.decoder_model import DecoderModel
from trimtab.config.freezing import stages_of, written
from trimtab.config.model import EncoderDecoderModel
from trimtab.config.optimizers import AdamW, kinds_where
from trimtab.config.run import Recipe
from trimtab.config.transformers_model import TransformersModel


def weight_contradictions(recipe: Recipe) -> Iterator[Complaint]:
    """What of them cannot hold together."""
    for check in (_start, _positions, _routers, _adapter, _freeze, _reinitialize, _unfreezing):
        yield from check(recipe)


def _start(recipe: Recipe) -> Iterator[Complaint]:
    model = recipe.model
    if recipe.begins_trained and recipe.step.weight_clip is not None:
        start = "model.warm_start" if model.warm_start is not None else "model.path"
        yield Complaint(
            path="step.weight_clip",
            what=f"its bound comes from untrained weights and would clip those of `{start}` at the first step",
            got=str(recipe.step.weight_clip),
            allowed=f"nothing, beside `{start}`",
            fix="leave one of the two out",
        )
    if model.warm_start_sha256 is not None and model.warm_start is None:
        yield Complaint(
            path="model.warm_start_sha256",
            what="given without `model.warm_start`",
            fix="remove it, or name the run in `model.warm_start`",
        )


def _positions(recipe: Recipe) -> Iterator[Complaint]:
    model = recipe.model
    match model:
        case EncoderDecoderModel() | DecoderModel() if model.warm_start_positions == "other":
            pass
        case _:
            return
    if model.warm_start is None:
        yield Complaint(
            path="model.warm_start_positions",
            what="has no effect without `model.warm_start`",
            got="other",
            fix="remove it, or name the run in `model.warm_start`",
        )
    elif recipe.adapter is not None:
        yield Complaint(
            path="model.warm_start_positions",
            what="an adapter freezes the weights of the run, which then cannot adapt to new positions",
            got="other, with `adapter`",
            allowed="same",
            fix="remove `adapter`, or train with the new positions first",
        )


def _routers(recipe: Recipe) -> Iterator[Complaint]:
    match recipe.model:
        case EncoderDecoderModel() | DecoderModel() if recipe.model.experts and recipe.adapter is not None:
            yield Complaint(
                path="adapter",
                what="adapters do not support `model.experts`",
                got=f"adapter, with experts: {{count: {recipe.model.experts.count}}}",
                allowed="no adapter, with `experts`",
                fix="remove it to train all weights",
            )
        case DecoderModel() if recipe.model.mixture_of_depths and recipe.adapter is not None:
            yield Complaint(
                path="adapter",
                what="adapters do not support `model.mixture_of_depths`",
                got=f"adapter, with mixture_of_depths: {{capacity: {recipe.model.mixture_of_depths.capacity:g}}}",
                allowed="no adapter, with `mixture_of_depths`",
                fix="remove it to train all weights",
            )
        case _:
            return


def _adapter(recipe: Recipe) -> Iterator[Complaint]:
    lora_b = recipe.step.optimizer.learning_rate_multipliers.lora_b
    if recipe.adapter is None and lora_b != 1:
        yield Complaint(
            path="step.optimizer.learning_rate_multipliers.lora_b",
            what="there is no adapter whose second matrices it would be for",
            got=f"{lora_b:g}",
            allowed="1, or an `adapter`",
            fix="leave it out, or train an adapter: `adapter: {kind: lora, rank: 16}`",
        )
    if recipe.adapter is None:
        return
    if isinstance(recipe.model, TransformersModel):
        yield from _adapter_of_module(recipe.adapter, recipe.model)
    elif not recipe.begins_trained and not _can_begin_trained(recipe):
        yield Complaint(
            path="adapter",
            what="an adapter adapts trained weights, and this model begins with none",
            got=f"adapter, with `model.kind: {recipe.model.kind}`",
            allowed="no adapter",
            fix="remove it to train all weights",
        )
    elif not recipe.begins_trained:
        texts = recipe.facts.continues_texts
        yield Complaint(
            path="adapter",
            what="an adapter adapts trained weights, and this model begins with none",
            got=f"adapter, with `model.kind: {recipe.model.kind}`",
            allowed="an adapter with `model.warm_start`"
            + (", or with `model.kind: pretrained`" if texts else ""),
            fix="remove it to train all weights, or "
            + (
                "set `model: {kind: pretrained, path: ...}`"
                if texts
                else "name a run: `model.warm_start: RUN`"
            ),
        )
    elif not recipe.facts.writes_text:
        yield Complaint(
            path="adapter",
            what="adapters are for models that translate or generate text, and for pretrained encoders",
            got=f"adapter, with `task: {recipe.task}` and `model.kind: {recipe.model.kind}`",
            allowed="`task: translation` or `task: language_model`; or `model.kind: pretrained`",
            fix="remove it to train all weights",
        )


def _can_begin_trained(recipe: Recipe) -> bool:
    """Whether its kind of model has `warm_start`."""
    return "warm_start" in type(recipe.model).model_fields


def _adapter_of_module(adapter: LoraAdapter, model: TransformersModel) -> Iterator[Complaint]:
    if adapter.embeddings == "train":
        yield Complaint(
            path="adapter.embeddings",
            what="an adapter on a model that transformers computes cannot train embeddings",
            got=f"train, with {model.path}",
            allowed="frozen",
            fix="leave it out; to train new rows, remove `adapter` and train all weights",
        )
    if model.trained_layers is not None:
        yield Complaint(
            path="model.trained_layers",
            what="an adapter freezes all layers of its model already",
            got=f"{model.trained_layers}, with `adapter`",
            allowed="one of the two",
            fix="leave `model.trained_layers` out",
        )


def _freeze(recipe: Recipe) -> Iterator[Complaint]:
    if not recipe.freeze:
        return
    if recipe.adapter is not None:
        yield Complaint(
            path="freeze",
            what="an adapter freezes all weights of its model already",
            got=f"[{written(recipe.freeze)}], with `adapter`",
            allowed="one of the two",
            fix="leave `freeze` out",
        )
    elif not recipe.begins_trained:
        yield Complaint(
            path="freeze",
            what="frozen weights would keep their random first values",
            got=f"[{written(recipe.freeze)}], and a model that begins with no trained weights",
            allowed="a model with `path` or `warm_start`",
            fix="leave `freeze` out"
            + (
                ", or begin with trained weights: `model.warm_start: RUN`"
                if _can_begin_trained(recipe)
                else ""
            ),
        )


def _reinitialize(recipe: Recipe) -> Iterator[Complaint]:
    if not recipe.reinitialize:
        return
    got = f"[{', '.join(recipe.reinitialize)}]"
    if not recipe.begins_trained:
        yield Complaint(
            path="reinitialize",
            what="the model has no pretrained weights to reinitialize",
            got=got,
            allowed="a model with `path` or `warm_start`",
            fix="leave it out",
        )
    elif recipe.adapter is not None:
        yield Complaint(
            path="reinitialize",
            what="an adapter is trained beside weights that stay as they were, and checkpoints hold the adapter alone",
            got=f"{got}, with `adapter`",
            allowed="one of the two",
            fix="remove `adapter` to train all weights",
        )


def _unfreezing(recipe: Recipe) -> Iterator[Complaint]:
    """Weights that are frozen for the first steps, where the run never comes to the others, or its optimizer counts the
    steps of all weights together: the moments of one that joins late would be taken for settled."""
    stages, optimizer, step = stages_of(recipe.freeze), recipe.step.optimizer, recipe.step
    if not stages:
        return
    if recipe.length.unit == "steps" and stages[-1].until.count >= recipe.length.count:
        yield Complaint(
            path="freeze",
            what="weights are frozen for longer than the run",
            got=f"until: {stages[-1].until}, with `length: {recipe.length}`",
            allowed=f"less than {recipe.length}",
            fix="name the weights without `until` to freeze them for the whole run, or shorten `until`",
        )
    counts_apart = optimizer.steps_by_tensor and (
        not isinstance(optimizer, AdamW) or (optimizer.states == "float32" and step.precision != "bf16")
    )
    others = {
        "step.optimizer": (
            "" if counts_apart else optimizer.kind,
            f"{kinds_where(lambda each: each.steps_by_tensor)}; adamw with float32 states and weights",
        ),
        "step.gradients": (step.gradients if step.gradients == "released" else "", "kept"),
        "step.offload": (step.offload if step.offload != "none" else "", "none"),
        "parallel.kind": (recipe.parallel.kind if recipe.parallel.kind == "fsdp" else "", "data_parallel"),
    }
    for path, (got, allowed) in others.items():
        if got:
            yield Complaint(
                path=path,
                what="cannot start training weights later in the run, as `freeze` with `until` asks for",
                got=f"{got}, with `until: {stages[0].until}`",
                allowed=allowed,
                fix="change it, or train in two runs: the second begins from the first with `model.warm_start`",
            )
