"""Introduces the stages to one another: a recipe becomes the parts of a run. The only file that knows every stage."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from trimtab.choices import settled
from trimtab.config.run import Recipe
from trimtab.data.data_stream import DataStream
from trimtab.data.ledger import Ledger
from trimtab.device import choose_device, wants_compile
from trimtab.distributed import ONE_RANK, Ranks
from trimtab.model.evaluation_model import EvaluationModel
from trimtab.run_clock import RunClock, StopRule
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
from trimtab.tasks.task import Task
from trimtab.tasks.task_of import task_of


@dataclass(slots=True)
class Parts:
    """What a run is made of, built and introduced; code takes the piece it needs from here."""

    recipe: Recipe
    """With everything filled in that was left to be chosen."""
    task: Task
    device: torch.device
    precision: Resolved
    sources: Any
    """The opened data: the task's `Datasets`."""
    examples: Any
    """The task's `Examples`, for checks."""
    ledger: Ledger
    pace: RunClock
    model: Any
    packing: Any
    """The task's `Batching`."""
    stream: DataStream
    learning_rate: LearningRate
    stop_rule: StopRule
    stepper: Stepper
    evaluation_model: EvaluationModel


def build(
    recipe: Recipe, sources: Any, *, device: torch.device | None = None, ranks: Ranks = ONE_RANK
) -> Parts:
    """The parts of a run from its recipe and its opened data; raises InputError where they cannot work together.

    With several `ranks` each process builds the same and takes its share of the micro-batches of every step.
    """
    task, device = task_of(recipe), device or choose_device()
    precision = resolve_precision(recipe.step.precision, device)
    packed = device.type == "cuda" and precision not in WHOLE and not recipe.model.needs_padding
    pace = RunClock(sources.positions_per_epoch)
    compiled = packed and wants_compile(
        recipe,
        targets_per_epoch=sources.targets_per_epoch,
        tokens_per_target=sources.tokens_per_target,
    )
    # Sums over ranks cannot be recorded yet.
    graphed = packed and recipe.step.cuda_graph != "off" and ranks.world_size == 1
    packing = task.plan_batches(recipe, sources, packed=packed, device=device)
    recipe = task.settled(recipe, sources)
    recipe = settled(recipe, packing.settled, precision=precision, compiled=compiled, graphed=graphed)
    model = task.build_model(recipe, sources, device=device)
    if precision == "bf16":
        model = model.half_precision_copy(torch.bfloat16)
    model.kernel = "varlen" if packed else "padded"
    loss = task.build_loss(recipe, sources, device=device)
    if compiled:
        model.compile_blocks()
    objective = TrainingModule(model, loss, precision=precision, device=device)
    stepper = build_stepper(recipe, objective, pace=pace, ranks=ranks)
    if graphed:
        stepper.graphs = StepGraphs(device=device, variant=lambda: loss.truncating)
    return Parts(
        recipe=recipe,
        task=task,
        device=device,
        precision=precision,
        sources=sources,
        examples=task.examples(sources, packing, device),
        ledger=Ledger.of(sources.corpora),
        pace=pace,
        model=model,
        packing=packing,
        stream=DataStream(task.open_mixture(recipe, sources), sources.stages, packing.cut_at, device, ranks),
        learning_rate=build_learning_rate(recipe, model, pace=pace),
        stop_rule=StopRule(recipe.length, recipe.evaluate.patience, pace),
        stepper=stepper,
        evaluation_model=build_evaluation_model(recipe, objective, stepper.optimizer),
    )


def build_stepper(
    recipe: Recipe, objective: TrainingModule, *, pace: RunClock, ranks: Ranks = ONE_RANK
) -> Stepper:
    """What takes the steps of a recipe, launched kernel by kernel."""
    step, truncate = recipe.step, recipe.loss.truncate
    return Stepper(
        objective=objective,
        loss=objective.compute_loss,
        optimizer=build_optimizer(
            step.optimizer,
            objective.model,
            weight_clip=step.weight_clip,
            ema=step.ema,
            role_of=objective.model.role_of,
        ),
        clip=build_clip(step.clip),
        scale=LossScale(enabled=objective.precision == "fp16_mixed", device=objective.device),
        gate=OutlierGate(recipe.guard),
        clock=pace,
        seed=recipe.seed,
        truncate_after=None if truncate is None else truncate.after,
        ranks=ranks,
    )


def build_learning_rate(recipe: Recipe, model: nn.Module, *, pace: RunClock) -> LearningRate:
    """The learning rate of each step of a recipe."""
    step, optimizer = recipe.step, recipe.step.optimizer
    return LearningRate(
        schedule=step.schedule,
        length=recipe.length,
        clock=pace,
        peak=optimizer.learning_rate * peak_factor(step.schedule, dim=recipe.model.dim),
        multipliers=multipliers_of(
            optimizer.learning_rate_multipliers, dict(model.named_parameters()), role_of=model.role_of
        ),
    )


def build_evaluation_model(
    recipe: Recipe, objective: TrainingModule, optimizer: Optimizer
) -> EvaluationModel:
    """What makes the model that the evaluations of a recipe score."""
    averaged, precision = None, objective.precision
    if recipe.evaluate.weights == "ema":
        assert isinstance(optimizer, AveragedWeights), "a recipe that evaluates the average keeps it"
        averaged = optimizer.averaged_copy
    half = torch.float16 if precision == "fp16_mixed" else torch.bfloat16
    narrow = objective.device.type == "cuda" and precision not in WHOLE
    return EvaluationModel(objective.model, averaged, half if narrow else None)
