"""What of a recipe runs on a GPU: the choices that `build` makes, made without it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from trimtab.config.loss import LossConfig
from trimtab.config.run import Recipe
from trimtab.errors import input_error
from trimtab.fit.activations import Program
from trimtab.fit.batches import Slots, slots_of
from trimtab.fit.gpus import Gpu
from trimtab.fit.loss_workspace import narrows_frozen
from trimtab.fit.native import unplanned_settings
from trimtab.fit.shape import Shape, Weights
from trimtab.fit.sharded import Gathered, gathered, is_sharded, share_of

TILED_LONGEST = 512
TILED_SIZES = (32, 64, 128)
"""Up to this length of a segment, heads of these sizes attend in tiles, which share keys without repeating them
(`model/tiled`)."""
ROWS_SIZES = (64, 128)
ROWS_FROM = 9.0
"""Heads, and compute capability, for which full documents longer than that are seen as rows (`model/attention_rows`):
the kernels are written for Hopper and Blackwell, elsewhere `model/attention_choice` finds them slower."""
FULL_SHARES = 4
CASTS_FROM = (2, 13)
"""Version of PyTorch whose autocast was seen to list `rms_norm`; 2.11 does not."""
PLANNED_LOSS = frozenset({"kind", "label_smoothing", "z_loss", "truncate"})
"""Settings of losses that are computed with each piece of the logits."""
COMPILES_FROM_TARGETS = 30_000_000
COMPILES_FROM_MINUTES = 3
"""As `device.wants_compile` chooses, which knows the size of an epoch as well."""


@dataclass(frozen=True, slots=True)
class Run:
    """What is planned: a model, its batches and how it runs."""

    recipe: Recipe
    shape: Shape
    slots: Slots
    how: Program
    recorded: bool
    evaluates: bool
    ranks: int = 1
    """Processes that train together."""

    @property
    def is_sharded(self) -> bool:
        """Whether each process holds a share of the weights."""
        return is_sharded(self.recipe, self.ranks)

    @property
    def own_weights(self) -> Sequence[Weights]:
        """What one process holds between steps."""
        if not self.is_sharded:
            return self.shape.weights
        return [share_of(each, self.ranks) for each in self.shape.weights]

    @property
    def trained(self) -> list[Weights]:
        """What of it is trained."""
        return [each for each in self.own_weights if each.trained]

    @property
    def gathered(self) -> Gathered:
        """What a process has for a moment beside its shares; nothing where it has whole weights."""
        if not self.is_sharded:
            return Gathered()
        narrow = self.recipe.adapter is not None and narrows_frozen(self.how)
        return gathered(self.shape, self.how, frozen_table=2 if narrow else self.how.weight)


def run_of(recipe: Recipe, folder: Path, gpu: Gpu, shape: Shape, *, ranks: int = 1) -> Run:
    """What the recipe leaves to be chosen for a model of this shape, chosen as `build` does. InputError for a loss
    whose memory was not measured."""
    refuse_unplanned_loss(recipe.loss)
    precision = recipe.step.precision
    if precision == "auto":
        precision = "bf16_mixed" if gpu.has_bfloat16 else "fp16_mixed"
    packed = precision not in ("fp32", "tf32") and not shape.padded
    slots = slots_of(recipe, folder, ranks=ranks)
    tiles = gpu.has_bfloat16 and slots.longest <= TILED_LONGEST
    sizes = {stack.layer.head_size for stack in shape.stacks}
    how = Program(
        precision=precision,
        compiled=packed and wants_compile(recipe),
        packed=packed,
        repeats_keys=not (tiles and sizes <= {*TILED_SIZES}),
        beside_rows=beside_rows(slots) if packed and may_be_rows(recipe, gpu, shape, slots) else 0.0,
        recompute=recipe.step.recompute,
        casts_rms_norm=torch_casts_rms_norm(),
    )
    recorded = packed and may_be_recorded(recipe) and not is_sharded(recipe, ranks)
    return Run(recipe, shape, slots, how, recorded, evaluates=bool(recipe.data.valid), ranks=ranks)


def refuse_unplanned_loss(loss: LossConfig) -> None:
    """Raises InputError for every setting with another value than its default that is not in `PLANNED_LOSS`."""
    if unplanned := unplanned_settings(loss, planned=PLANNED_LOSS):
        raise input_error(
            "loss: no memory plan, because the memory of these terms of the loss has not been measured",
            got=" and ".join(unplanned),
            allowed=", ".join(sorted(PLANNED_LOSS - {"kind"})),
            fix="start `trimtab train`: it tries the largest micro-batch first and says at once if it does not fit",
        )


def may_be_rows(recipe: Recipe, gpu: Gpu, shape: Shape, slots: Slots) -> bool:
    """Whether attention may take full documents as rows, as `choices.may_be_rows` and the model decide."""
    is_decoder = recipe.facts.one_row and not recipe.model.has_encoder and not recipe.model.reads_prefix
    fits = all(stack.layer.head_size in ROWS_SIZES for stack in shape.stacks)
    is_long = slots.longest > TILED_LONGEST and not recipe.step.deterministic
    return is_decoder and fits and is_long and gpu.capability >= ROWS_FROM


def beside_rows(slots: Slots) -> float:
    """The share of a pack beside as few full documents as are taken as rows: a quarter of those that fit, rounded up
    (`data/cut`)."""
    rows = -(-(slots.target // slots.longest) // FULL_SHARES)
    return max(0.0, 1 - rows * slots.longest / slots.target)


def may_be_recorded(recipe: Recipe) -> bool:
    """As `build.can_be_recorded`."""
    by_chance = recipe.model.dropout > 0 or recipe.step.stochastic_depth is not None
    draws = recipe.step.recompute == "block" and by_chance
    stays = recipe.step.gradients == "kept" and recipe.step.offload == "none"
    return recipe.step.cuda_graph != "off" and not draws and stays


@cache
def torch_casts_rms_norm() -> bool:
    """Whether the PyTorch that is installed casts RMSNorm; where none is, the one that needs more memory is planned
    for."""
    try:
        major, minor, *_ = version("torch").split(".")
        return (int(major), int(minor)) >= CASTS_FROM
    except (PackageNotFoundError, ValueError):
        return False


def wants_compile(recipe: Recipe) -> bool:
    """Whether the layers are compiled, as far as the recipe says."""
    if recipe.step.compile != "auto":
        return recipe.step.compile == "on"
    match recipe.length.unit:
        case "minutes":
            return recipe.length.count >= COMPILES_FROM_MINUTES
        case "steps":
            return recipe.length.count * recipe.step.tokens_per_step >= COMPILES_FROM_TARGETS
        case "tokens":
            return recipe.length.count >= COMPILES_FROM_TARGETS
        case _:
            return (
                True  # an epoch of unknown size: the larger plan of the two is that of plain layers, but rare
            )


def is_released(run: Run) -> bool:
    """Whether each gradient is used and dropped within the backward pass."""
    return run.recipe.step.gradients == "released"
