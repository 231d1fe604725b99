"""Introduces the stages to one another: a recipe becomes the parts of a run. Its task brings data, model and loss."""

import copy
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from trimtab.choices import resolve_auto
from trimtab.config.decoder_model import DecoderModel
from trimtab.config.freezing import patterns_of, stages_of
from trimtab.config.model import EncoderDecoderModel
from trimtab.config.run import Recipe
from trimtab.data.data_stream import DataStream
from trimtab.data.ledger import Ledger
from trimtab.device import choose_device, wants_compile
from trimtab.distributed import ONE_RANK, Ranks
from trimtab.distributed.placed_ranks import PlacedRanks
from trimtab.distributed.sharding import ShardedOptimizer, Sharding, shard
from trimtab.errors import input_error
from trimtab.model.freeze import Unfreezing, freeze
from trimtab.model.lora import add_lora, lengths_of_rows, narrow_frozen
from trimtab.model.positions.combined import Fading
from trimtab.run_clock import RunClock, StopRule
from trimtab.step.clip.build import build_clip
from trimtab.step.clip.component import Components
from trimtab.step.learning_rate import LearningRate
from trimtab.step.loss_scale import LossScale
from trimtab.step.multipliers import multipliers_of
from trimtab.step.optimizer.averaged_weights import PREFIX as MEANS
from trimtab.step.optimizer.averaged_weights import AveragedWeights
from trimtab.step.optimizer.build import build_optimizer
from trimtab.step.optimizer.protocol import Optimizer
from trimtab.step.outlier_gate import OutlierGate
from trimtab.step.over_ranks import refuse_rounding_by_chance
from trimtab.step.precision import WHOLE, Resolved, resolve_precision
from trimtab.step.released_steps import ReleasedSteps
from trimtab.step.schedule import peak_factor
from trimtab.step.step_graphs import StepGraphs
from trimtab.step.stepper import Stepper, TrainingModule, statistics_of
from trimtab.tasks.task import Task
from trimtab.tasks.task_of import task_of
from trimtab.tasks.teacher import with_found_teacher
from trimtab.types import HasComponents


@dataclass(slots=True)
class EvaluationModel:
    """Makes the model of an evaluation from the one in training."""

    model: Any
    averaged: Callable[[Any], Any] | None = None
    """Gives a copy with the averaged weights, where the recipe evaluates these."""
    dtype: torch.dtype | None = None
    """Half precision, in which decoding on a GPU is several times faster; None if the weights stay as they are."""
    gathered: Callable[[torch.dtype | None], Any] | None = None
    """Gives a whole copy of a model whose weights are divided among ranks."""
    refresh: Callable[[], None] | None = None
    """Brings the weights up to date that other ranks train."""

    def copy(self) -> Any:
        """The model to score now; the very model in training where nothing of this applies."""
        if self.refresh is not None:
            self.refresh()
        if self.gathered is not None:
            return self.gathered(self.dtype)
        model = self.model if self.averaged is None else self.averaged(self.model)
        if self.dtype is None:
            return model
        if all(each.dtype == self.dtype for each in model.parameters()):
            # Narrow already: modules of its own, which are not compiled, over the same weights.
            return copy.deepcopy(model, {id(each): each for each in model.parameters()})
        return model.half_precision_copy(self.dtype)


@dataclass(slots=True)
class Parts:
    """What a run is made of, built and introduced; code takes the piece it needs from here."""

    recipe: Recipe
    """With everything filled in that was left to be chosen."""
    task: Task
    device: torch.device
    precision: Resolved
    datasets: Any
    """The opened data: the task's `Datasets`."""
    examples: Any
    """The task's `Examples`, for checks."""
    ledger: Ledger
    clock: RunClock
    model: Any
    batching: Any
    """The task's `Batching`."""
    stream: DataStream
    learning_rate: LearningRate
    stop_rule: StopRule
    stepper: Stepper
    evaluation_model: Any
    """An `EvaluationModel`, or what gives one part of what that copies."""
    sharding: Sharding | None = None
    """How the model is divided among ranks; None where each has all of it."""
    placed: PlacedRanks | None = None
    """Which weights each rank trains, where ranks train different ones."""


def build(
    recipe: Recipe, datasets: Any, *, device: torch.device | None = None, ranks: Ranks = ONE_RANK
) -> Parts:
    """The parts of a run from its recipe and its opened data; raises InputError if they cannot work together.

    With several `ranks` each process builds the same and takes its share of the micro-batches of every step.
    """
    task, device = task_of(recipe), device or choose_device()
    precision = resolve_precision(recipe.step.precision, device)
    packed = device.type == "cuda" and precision not in WHOLE and not recipe.model.needs_padding
    clock = RunClock(datasets.positions_per_epoch)
    compiled = packed and wants_compile(
        recipe, targets_per_epoch=datasets.targets_per_epoch, tokens_per_target=datasets.tokens_per_target
    )
    sharded = ranks.world_size > 1 and recipe.parallel.kind == "fsdp"
    graphed = packed and can_be_recorded(recipe) and not sharded
    batching = task.plan_batches(recipe, datasets, packed=packed, device=device, ranks=ranks.world_size)
    recipe = task.resolve_sizes(recipe, datasets)
    recipe = resolve_auto(recipe, batching.resolved, precision=precision, compiled=compiled, graphed=graphed)
    model = untrained_model(task, recipe, datasets, device=device)
    if recipe.adapter is not None and packed and precision == "bf16_mixed":
        narrow_frozen(model, torch.bfloat16)
    if ranks.world_size > 1:
        refuse_rounding_by_chance([each for each in model.parameters() if each.requires_grad])
        refuse_released_gradients(recipe)
    placed = task.placed_ranks(recipe, model, ranks)
    ranks = placed or ranks
    if recipe.step.recompute != "none":
        model.recompute_in_backward(recipe.step.recompute)
    model.kernel = "varlen" if packed else "padded"
    loss = task.build_loss(recipe, datasets, device=device)
    recipe = with_found_teacher(recipe, loss)
    if compiled:
        compile_layers(recipe, model)
    objective = TrainingModule(model, loss, precision=precision, device=device)
    sharding = shard_objective(objective) if sharded else None
    stepper = build_stepper(recipe, objective, clock=clock, ranks=ranks, sharding=sharding)
    if graphed:
        stepper.graphs = StepGraphs(device=device, variant=lambda: loss.truncating, ranks=ranks)
    return Parts(
        recipe=recipe,
        task=task,
        device=device,
        precision=precision,
        datasets=datasets,
        examples=task.examples(datasets, batching, device),
        ledger=Ledger.of(datasets.corpora),
        clock=clock,
        model=model,
        batching=batching,
        stream=open_stream(recipe, datasets, batching, device, ranks=ranks, same_number=graphed or sharded),
        learning_rate=build_learning_rate(recipe, model, clock=clock),
        stop_rule=StopRule(recipe.length, recipe.evaluate.patience, clock),
        stepper=stepper,
        evaluation_model=build_evaluation_model(recipe, objective, stepper.optimizer, sharding, placed),
        sharding=sharding,
        placed=placed,
    )


def compile_layers(recipe: Recipe, model: Any) -> None:
    """Compiles the layers of a model, for the passes that the steps of a recipe make over each graph."""
    if recipe.step.gradients == "released":
        import torch._functorch.config as functorch  # late: only who compiles needs it

        functorch.donated_buffer = False  # a graph that is kept for a second backward pass
    model.compile_blocks()


def shard_objective(objective: TrainingModule) -> Sharding:
    """Shards the model of an objective across all ranks."""
    model: Any = objective.model
    sharding = shard(
        objective,
        model,
        model.blocks,
        compute=half_of(objective.precision),
        device=objective.device,
        never_narrowed=lengths_of_rows(model),
    )
    if objective.device.type == "cuda":
        torch.cuda.empty_cache()  # blocks of whole tensors, which no part fills
    return sharding


def untrained_model(task: Task, recipe: Recipe, datasets: Any, *, device: torch.device) -> Any:
    """The model with its first weights and, where the recipe asks for one, an adapter that changes nothing yet."""
    if recipe.adapter is None:
        # What is narrowed is made in host memory, so that the GPU never holds it in float32.
        narrow = recipe.step.precision == "bf16"
        model = task.build_model(recipe, datasets, device=place_of_first_weights(recipe, device))
        model = model.narrowed(torch.bfloat16).to(device) if narrow else model
        freeze(model, patterns_of(recipe.freeze))
        return model
    # Matrices that will be packed in 4 bits are not on the device before.
    place = torch.device("cpu") if recipe.adapter.quantize_base == "nf4" else device
    model = task.build_model(recipe, datasets, device=place)
    add_lora(model, recipe.adapter, seed=recipe.seed, device=device)
    model = model.to(device)
    return model.narrowed(torch.bfloat16) if recipe.step.precision == "bf16" else model


def place_of_first_weights(recipe: Recipe, device: torch.device) -> torch.device:
    """Where a model is made: in host memory where it has to be narrowed before it comes to its device."""
    in_host = recipe.step.precision == "bf16" and not recipe.model.drawn_on_gpu
    return torch.device("cpu") if in_host else device


def can_be_recorded(recipe: Recipe) -> bool:
    """Whether steps can be recorded as CUDA graphs: not where layers that draw random numbers are computed again, as
    the state of the random generator is read then, nor where gradients are released or states are on the host."""
    step = recipe.step
    by_chance = recipe.model.dropout > 0 or step.stochastic_depth is not None
    draws = step.recompute == "block" and by_chance
    stays = step.gradients == "kept" and step.offload == "none"
    return step.cuda_graph != "off" and not draws and stays


def refuse_released_gradients(recipe: Recipe) -> None:
    """Raises InputError for gradients that are used before those of other ranks have been added, and for states that
    are not where other ranks expect them."""
    if recipe.step.offload != "none":
        raise input_error(
            "step.offload: optimizer states on the host are for one process",
            got=f"{recipe.step.offload} on more than one rank",
            allowed="none; `parallel: {kind: fsdp}` divides the states among GPUs",
            fix="set `step.offload: none`",
        )
    if recipe.step.gradients == "released":
        raise input_error(
            "step.gradients: released gradients cannot be summed over ranks",
            got="released on more than one rank",
            allowed="kept",
            fix="set `step.gradients: kept`",
        )


def build_stepper(
    recipe: Recipe,
    objective: TrainingModule,
    *,
    clock: RunClock,
    ranks: Ranks = ONE_RANK,
    sharding: Sharding | None = None,
) -> Stepper:
    """What takes the steps of a recipe, launched kernel by kernel."""
    step, truncate = recipe.step, recipe.loss.truncate

    def optimizer_of(model: nn.Module) -> Optimizer:
        return build_optimizer(
            step.optimizer,
            model,
            weight_clip=step.weight_clip,
            ema=step.ema,
            role_of=objective.model.role_of,
            by_tensor=step.gradients == "released",
            on_host=step.offload == "optimizer_states",
        )

    model, placed = objective.model, ranks if isinstance(ranks, PlacedRanks) else None
    optimizer = optimizer_of(model) if sharding is None else ShardedOptimizer(sharding, model, optimizer_of)
    stepper = Stepper(
        objective=objective,
        loss=objective.compute_loss,
        optimizer=optimizer,
        clip=build_clip(
            step.clip,
            components=components_of(model, optimizer, own=None if placed is None else placed.own_names),
            squares_of_step=None if placed is None else placed.squares_of_step,
        ),
        scale=LossScale(enabled=objective.precision == "fp16_mixed", device=objective.device),
        gate=OutlierGate(recipe.guard),
        clock=clock,
        seed=recipe.seed,
        truncate_after=None if truncate is None else truncate.after,
        statistics=statistics_of(model),
        released=ReleasedSteps() if step.gradients == "released" else None,
        ranks=ranks,
    )
    if stages := stages_of(recipe.freeze):  # behind the optimizer, which holds what is trained later too
        stepper.unfreezing = Unfreezing(model, stages)
        stepper.train_weights_of(0)
    match recipe.model:
        case EncoderDecoderModel() | DecoderModel() if recipe.model.absolute_fade is not None:
            stepper.fading = Fading(model, over=recipe.model.absolute_fade.steps)
        case _:
            pass
    return stepper


def components_of(
    model: nn.Module, optimizer: Optimizer, *, own: Collection[str] | None = None
) -> Components | None:
    """Which component of the model each gradient belongs to; None for a model without components. `own` has the names
    of the weights that this rank trains, where others train others."""
    if not isinstance(model, HasComponents):
        return None
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    numbers = {component: number for number, component in enumerate(model.components)}
    trained = [
        each
        for each in optimizer.parameters
        if each.requires_grad and (own is None or names[id(each)] in own)
    ]
    owners = tuple(numbers[model.component_of(names[id(each)])] for each in trained)
    return Components(model.components, owners)


def open_stream(
    recipe: Recipe, datasets: Any, batching: Any, device: torch.device, *, ranks: Ranks, same_number: bool
) -> DataStream:
    """The micro-batches of this rank; with `same_number`, as many as each other one has."""
    mixture = task_of(recipe).open_mixture(recipe, datasets)
    if isinstance(ranks, PlacedRanks):  # each cuts its directions out of the global batches
        batching, ranks = batching.placed(ranks.placement, ranks.rank), ONE_RANK
    in_order = same_number and batching.in_order
    return DataStream(
        mixture, datasets.stages, batching.cut_at, device, ranks, same_number=same_number, in_order=in_order
    )


def build_learning_rate(recipe: Recipe, model: nn.Module, *, clock: RunClock) -> LearningRate:
    """The learning rate of each step of a recipe."""
    step, optimizer = recipe.step, recipe.step.optimizer
    return LearningRate(
        schedule=step.schedule,
        length=recipe.length,
        clock=clock,
        peak=optimizer.learning_rate * peak_factor(step.schedule, dim=recipe.model.dim),
        multipliers=multipliers_of(
            optimizer.learning_rate_multipliers, dict(model.named_parameters()), role_of=model.role_of
        ),
    )


def build_evaluation_model(
    recipe: Recipe,
    objective: TrainingModule,
    optimizer: Optimizer,
    sharding: Sharding | None = None,
    placed: PlacedRanks | None = None,
) -> EvaluationModel:
    """What makes the model that the evaluations of a recipe score."""
    averaged, precision = None, objective.precision
    if sharding is not None:
        assert isinstance(optimizer, ShardedOptimizer), "a divided model has a divided optimizer"
        of_ema = recipe.evaluate.weights == "ema"

        def gathered(dtype: torch.dtype | None) -> Any:
            replaced = optimizer.averages(MEANS) if of_ema else None
            return sharding.plain_copy(objective.model, dtype=dtype, replaced=replaced)

        narrow = objective.device.type == "cuda"
        return EvaluationModel(objective.model, None, half_of(precision) if narrow else None, gathered)
    if recipe.evaluate.weights == "ema":
        assert isinstance(optimizer, AveragedWeights), "a recipe that evaluates the average keeps it"
        averaged = optimizer.averaged_copy
    narrow = objective.device.type == "cuda"
    refresh = None if placed is None else placed.refresh
    return EvaluationModel(objective.model, averaged, half_of(precision) if narrow else None, refresh=refresh)


def half_of(precision: Resolved) -> torch.dtype | None:
    """The half precision in which products of this precision are made; None where they are not."""
    if precision in WHOLE:
        return None
    return torch.float16 if precision == "fp16_mixed" else torch.bfloat16
