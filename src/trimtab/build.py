"""Introduces the stages to one another: a recipe becomes the parts of a run. The only file that knows every stage."""

import itertools
from collections.abc import Generator
from dataclasses import dataclass, replace
from functools import partial

import torch

from trimtab.choices import settled, shape_for
from trimtab.config.run import Recipe
from trimtab.config.step import StepConfig
from trimtab.data.chunk import Feed
from trimtab.data.data_stream import DataStream
from trimtab.data.fitting_vocabulary import with_sizes
from trimtab.data.ledger import Ledger
from trimtab.data.loader import chunks, resolve_workers
from trimtab.data.mixture import Mixture
from trimtab.data.packing import Packing
from trimtab.data.text_rows import TextFeed
from trimtab.data.tokenizers import Tokenizers
from trimtab.data.window import windows
from trimtab.device import choose_device, wants_compile
from trimtab.flow import LossOutput, Pack, Window
from trimtab.loss.build import Loss, build_loss
from trimtab.model.evaluation_model import EvaluationModel
from trimtab.model.half_copy import half_copy
from trimtab.model.kinds import Model, model_of
from trimtab.model.roles import role_of
from trimtab.pace import Pace, StopRule
from trimtab.sources import Sources
from trimtab.step.batch_warmup import tokens_at
from trimtab.step.clip.build import build_clip
from trimtab.step.learning_rate import LearningRate
from trimtab.step.loss_scale import LossScale
from trimtab.step.multipliers import multipliers_of
from trimtab.step.optimizer.averaged_weights import AveragedWeights
from trimtab.step.optimizer.build import build_optimizer
from trimtab.step.optimizer.protocol import Optimizer
from trimtab.step.outlier_gate import OutlierGate
from trimtab.step.precision import WHOLE, Resolved, resolve_precision
from trimtab.step.schedule import peak_factor
from trimtab.step.step_graphs import StepGraphs
from trimtab.step.stepper import Stepper
from trimtab.step.training_module import TrainingModule


@dataclass(slots=True)
class Parts:
    """What a run is made of, built and introduced; code takes the piece it needs from here."""

    recipe: Recipe
    """With everything filled in that was left to be chosen."""
    device: torch.device
    precision: Resolved
    sources: Sources
    ledger: Ledger
    pace: Pace
    model: Model
    packing: Packing
    stream: DataStream
    learning_rate: LearningRate
    stop_rule: StopRule
    stepper: Stepper
    evaluation_model: EvaluationModel


def build(recipe: Recipe, sources: Sources, *, device: torch.device | None = None) -> Parts:
    """The parts of a run from its recipe and its opened data; raises InputError where they cannot work together."""
    device = device or choose_device()
    precision = resolve_precision(recipe.step.precision, device)
    packed = device.type == "cuda" and precision not in WHOLE
    pace = Pace(sources.feed.mixture.examples_per_epoch * sources.feed.parts_per_position)
    compiled = packed and wants_compile(recipe, targets_per_epoch=sources.targets_per_epoch)
    shape = shape_for(recipe, sources.lengths, packed=packed, slots_per_target=sources.slots_per_target)
    graphed = packed and recipe.step.cuda_graph != "off"
    data = with_sizes(recipe.data, source=sources.tokenizers.source, target=sources.tokenizers.target)
    recipe = recipe.model_copy(update={"data": data})
    recipe = settled(recipe, shape, precision=precision, compiled=compiled, graphed=graphed)
    model = build_model(recipe, sources.tokenizers, device=device)
    if precision == "bf16":
        model = half_copy(model, torch.bfloat16)
    model.kernel = "varlen" if packed else "padded"
    loss = build_loss(recipe.loss, num_ids=sources.tokenizer.num_ids, device=device)
    if compiled:
        model.compile_blocks()

    packing = Packing(
        shape=shape,
        symbols=sources.tokenizers.symbols,
        tokens_per_step=recipe.step.tokens_per_step,
        tokens_at=partial(_tokens_at, recipe.step),
        device=device,
    )
    stepper = build_stepper(recipe, model, loss, pace=pace, precision=precision, device=device)
    stepper.graphs = StepGraphs(device=device, variant=lambda: loss.truncating) if graphed else None
    return Parts(
        recipe=recipe,
        device=device,
        precision=precision,
        sources=sources,
        ledger=Ledger.of(sources.corpora),
        pace=pace,
        model=model,
        packing=packing,
        stream=DataStream(
            partial(open_windows, recipe, sources.feed), sources.stages, packing.cut_at, device
        ),
        learning_rate=build_learning_rate(recipe, model, pace=pace),
        stop_rule=StopRule(recipe.length, recipe.evaluate.patience, pace),
        stepper=stepper,
        evaluation_model=build_evaluation_model(recipe, model, stepper.optimizer, precision, device),
    )


def build_stepper(
    recipe: Recipe, model: Model, loss: Loss, *, pace: Pace, precision: Resolved, device: torch.device
) -> Stepper:
    """What takes the steps of a recipe, launched kernel by kernel."""
    step, truncate = recipe.step, recipe.loss.truncate
    return Stepper(
        objective=TrainingModule(model, partial(_loss_of, loss), precision=precision, device=device),
        loss=loss,
        optimizer=build_optimizer(
            step.optimizer, model, weight_clip=step.weight_clip, ema=step.ema, role_of=role_of
        ),
        clip=build_clip(step.clip),
        scale=LossScale(enabled=precision == "fp16_mixed", device=device),
        gate=OutlierGate(recipe.guard),
        clock=pace,
        seed=recipe.seed,
        truncate_after=None if truncate is None else truncate.after,
    )


def build_learning_rate(recipe: Recipe, model: Model, *, pace: Pace) -> LearningRate:
    """The learning rate of each step of a recipe."""
    step, optimizer = recipe.step, recipe.step.optimizer
    return LearningRate(
        schedule=step.schedule,
        length=recipe.length,
        clock=pace,
        peak=optimizer.learning_rate * peak_factor(step.schedule, dim=recipe.model.dim),
        multipliers=multipliers_of(
            optimizer.learning_rate_multipliers, dict(model.named_parameters()), role_of=role_of
        ),
    )


def build_evaluation_model(
    recipe: Recipe, model: Model, optimizer: Optimizer, precision: Resolved, device: torch.device
) -> EvaluationModel:
    """What makes the model that the evaluations of a recipe score."""
    averaged = None
    if recipe.evaluate.weights == "ema":
        assert isinstance(optimizer, AveragedWeights), "a recipe that evaluates the average keeps it"
        averaged = optimizer.averaged_copy
    half = torch.float16 if precision == "fp16_mixed" else torch.bfloat16
    return EvaluationModel(model, averaged, None if device.type != "cuda" or precision in WHOLE else half)


def open_windows(
    recipe: Recipe, feed: Feed | TextFeed, mixture: Mixture, position: int, step: int
) -> Generator[Window, None, None]:
    """The endless global batches of one mixture, from a position and a step on."""
    data = recipe.data
    return windows(
        chunks(replace(feed, mixture=mixture), from_position=position, workers=resolve_workers(data)),
        from_position=position,
        tokens_per_step=recipe.step.tokens_per_step,
        max_tokens=data.max_tokens,
        examples_per_epoch=mixture.examples_per_epoch,
        sizes=map(partial(_tokens_at, recipe.step), itertools.count(step)),
    )


def _tokens_at(config: StepConfig, step: int) -> int:
    return tokens_at(config.batch_warmup, step=step, full=config.tokens_per_step)


def _loss_of(loss: Loss, model: Model, pack: Pack) -> LossOutput:
    return loss(model(pack), model.output_matrix, pack.labels)


def build_model(recipe: Recipe, tokenizers: Tokenizers, *, device: torch.device) -> Model:
    """The model that a recipe describes, with its first weights."""
    longest = -(-recipe.data.max_tokens // 64) * 64
    return model_of(
        recipe.model,
        num_ids=tokenizers.target.num_ids,
        num_source_ids=tokenizers.source.num_ids,
        max_positions=longest,
        seed=recipe.seed,
    ).to(device)
