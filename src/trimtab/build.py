"""Introduces the stages to one another: a recipe becomes the parts of a run. The only file that knows every stage."""

import hashlib
import itertools
import math
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from trimtab.choices import settled, shape_for
from trimtab.config.run import Recipe
from trimtab.data.cut import cut, pack_pairs
from trimtab.data.fitting_vocabulary import with_sizes
from trimtab.data.ledger import Ledger
from trimtab.data.loader import chunks, resolve_workers
from trimtab.data.mixture import Mixture
from trimtab.data.prefetch import prefetched
from trimtab.data.shape import PackShape
from trimtab.data.stages import across_stages
from trimtab.data.tokenizers import Tokenizers
from trimtab.data.valid_set import ValidSet
from trimtab.data.window import windows
from trimtab.device import choose_device, wants_compile
from trimtab.flow import LossOutput, Pack, Ragged, StepReport, TrainState, Window
from trimtab.loss.build import Loss, build_loss
from trimtab.model.kinds import Model, model_of
from trimtab.pace import Pace
from trimtab.sources import Sources
from trimtab.step.batch_warmup import tokens_at
from trimtab.step.clip.build import build_clip
from trimtab.step.clip.protocol import Clip
from trimtab.step.loss_scale import LossScale
from trimtab.step.multipliers import multipliers_of
from trimtab.step.optimizer.averaged_weights import AveragedWeights
from trimtab.step.optimizer.build import build_optimizer
from trimtab.step.optimizer.protocol import Optimizer
from trimtab.step.outlier_gate import OutlierGate
from trimtab.step.precision import WHOLE, Resolved, autocast, resolve_precision
from trimtab.step.schedule import peak_factor, rate_at
from trimtab.step.step_graphs import StepGraphs
from trimtab.step.take_step import take_step

FIRST_WARMUP_STEPS = 1000
"""How long a warmup in another unit is taken to be for the first step, whose pace is not known."""


@dataclass(slots=True)
class Parts:
    """Everything that a run needs, built and introduced; `train` only calls it."""

    recipe: Recipe
    """With everything filled in that was left to be chosen."""
    device: torch.device
    precision: Resolved
    sources: Sources
    shape: PackShape
    ledger: Ledger
    pace: Pace
    model: Model
    objective: Callable[[Pack], LossOutput]
    """Forward pass and summed loss of one pack on the device, in the run's precision."""
    loss: Loss
    optimizer: Optimizer
    clip: Clip
    scale: LossScale
    gate: OutlierGate
    graphs: StepGraphs | None = None
    """Takes the steps where they are recorded."""

    def take_step(self, packs: Sequence[Pack], *, learning_rate: float) -> StepReport:
        """One update of the weights from a window's packs."""
        step = take_step if self.graphs is None else self.graphs.take_step
        return step(
            self.objective,
            self.optimizer,
            packs,
            clip=self.clip,
            scale=self.scale,
            gate=self.gate,
            learning_rate=learning_rate,
        )

    def windows(self, position: int, *, step: int = 0) -> Generator[tuple[Window, list[Pack]], None, None]:
        """The windows from a step and its position of the stream on, each with its packs on the device."""
        made = self.cut_windows(position, step=step)
        if self.device.type != "cuda":
            yield from made
            return
        for window, packs in prefetched(((w, [p.pin() for p in ps]) for w, ps in made), ahead=4):
            yield window, [pack.to(self.device) for pack in packs]

    def cut_windows(self, position: int, *, step: int = 0) -> Iterator[tuple[Window, list[Pack]]]:
        """The windows from a step and its position on, each cut into packs in host memory."""

        def open_stream(mixture: Mixture, position: int) -> Generator[Window, None, None]:
            return self.stream(mixture, position, step=step)  # as it is by then

        for window in across_stages(open_stream, self.sources.stages, step=step, position=position):
            packs = self.cut(window, self.shape_at(step))
            step += 1
            yield window, packs

    def tokens_at(self, step: int) -> int:
        """Target tokens that the window of a step may hold."""
        config = self.recipe.step
        return tokens_at(config.batch_warmup, step=step, full=config.tokens_per_step)

    def shape_at(self, step: int) -> PackShape:
        """The packs of a step: always of one size, fewer of them where the step is smaller."""
        full = self.recipe.step.tokens_per_step
        return replace(self.shape, num_packs=-(-self.tokens_at(step) * self.shape.num_packs // full))

    def stream(self, mixture: Mixture, position: int, *, step: int = 0) -> Generator[Window, None, None]:
        """The endless windows of one mixture from a step and its position on."""
        data, feed = self.recipe.data, replace(self.sources.feed, mixture=mixture)
        return windows(
            chunks(feed, from_position=position, workers=resolve_workers(data)),
            from_position=position,
            tokens_per_step=self.recipe.step.tokens_per_step,
            max_tokens=data.max_tokens,
            examples_per_epoch=mixture.examples_per_epoch,
            sizes=map(self.tokens_at, itertools.count(step)),
        )

    def cut(self, window: Window, shape: PackShape | None = None) -> list[Pack]:
        """A window in packs of the run's shape, or of another, in host memory."""
        return cut(window, shape or self.shape, **self.sources.tokenizers.symbols)

    def pack_pairs(
        self, source: Ragged, target: Ragged, *, prompt: np.ndarray | None = None
    ) -> Iterator[Pack]:
        """A whole set in packs on the device; `prompt` says how many leading targets of each row do not count."""
        symbols = self.sources.tokenizers.symbols
        for pack in pack_pairs(source, target, self.shape, prompt=prompt, **symbols):
            yield pack.to(self.device)

    def learning_rate(self, state: TrainState) -> float:
        """The rate of the next step."""
        schedule = self.recipe.step.schedule
        length = self.pace.in_steps(self.recipe.length, state)
        warmup = self.pace.in_steps(schedule.warmup, state) if schedule.warmup else 0
        # Before the first step an epoch or a minute is no number of steps yet; the first update must move all the same.
        warmup = min(warmup, FIRST_WARMUP_STEPS) if math.isinf(warmup) else warmup
        share = rate_at(schedule, step=state.step, length=length, warmup=warmup)
        return self.peak_rate * share

    @property
    def peak_rate(self) -> float:
        """The highest rate that the schedule reaches."""
        step = self.recipe.step
        return step.optimizer.learning_rate * peak_factor(step.schedule, dim=self.recipe.model.dim)

    @property
    def multipliers(self) -> dict[str, float]:
        """What the rate of a step is multiplied by for each weight, by its name."""
        config = self.recipe.step.optimizer.learning_rate_multipliers
        return multipliers_of(config, dict(self.model.named_parameters()), role_of=self.model.role_of)

    def begin(self, state: TrainState) -> None:
        """What of the next step is a function of where the run is: its dropout, whether its loss truncates, and whether
        it is left out, being near to what spoilt the run."""
        truncate = self.recipe.loss.truncate
        self.loss.truncating = truncate is not None and self.pace.share(truncate.after, state) >= 1
        self.gate.masked = any(
            first <= state.step + 1 <= last for first, last in state.guard.get("masked", ())
        )
        self.reseed(state.step)

    def reseed(self, step: int) -> None:
        """Dropout of a step is a function of the seed and the step, so that nothing of it need be saved."""
        digest = hashlib.blake2b(f"{self.recipe.seed} dropout {step}".encode(), digest_size=8).digest()
        torch.manual_seed(int.from_bytes(digest, "little") >> 1)

    def finished(self, state: TrainState) -> bool:
        """Whether the length is reached, or `evaluate.patience` is at its end."""
        return self.ended_early(state) or self.pace.share(self.recipe.length, state) >= 1

    def ended_early(self, state: TrainState) -> bool:
        """Whether `evaluate.patience` is at its end before the length is reached."""
        patience = self.recipe.evaluate.patience
        stale = patience is not None and state.best.get("since", 0) >= patience
        return stale and self.pace.share(self.recipe.length, state) < 1

    def end(self, state: TrainState) -> str:
        """Why a finished run is over."""
        if not self.ended_early(state):
            return f"its length of {self.recipe.length} is reached"
        since = state.best["since"]
        return (
            f"evaluate.patience is at its end: the last {since} evaluations were no better; raise it to go on"
        )

    def fast_copy(self) -> Model:
        """The model for evaluation: on a GPU a copy in half precision, which decoding runs several times faster in;
        with the averaged weights where the recipe evaluates these."""
        model = self.model
        if self.recipe.evaluate.weights == "ema":
            assert isinstance(self.optimizer, AveragedWeights), "a recipe that evaluates the average keeps it"
            model = self.optimizer.averaged_copy(model)
        if self.device.type != "cuda" or self.precision in WHOLE:
            return model
        half = torch.float16 if self.precision == "fp16_mixed" else torch.bfloat16
        return model.half_precision_copy(half)

    def valid(self) -> dict[str, ValidSet]:
        """The validation sets by name."""
        return self.sources.valid


def build(recipe: Recipe, sources: Sources, *, device: torch.device | None = None) -> Parts:
    """The parts of a run from its recipe and its opened data; raises InputError where they cannot work together."""
    device = device or choose_device()
    precision = resolve_precision(recipe.step.precision, device)
    biased = any(each.has_bias for each in recipe.model.all_position_settings)
    packed = device.type == "cuda" and precision not in WHOLE and not biased
    pace = Pace(sources.feed.mixture.examples_per_epoch * sources.feed.parts_per_position)
    compiled = packed and wants_compile(recipe, targets_per_epoch=sources.targets_per_epoch)
    shape = shape_for(recipe, sources.lengths, packed=packed, slots_per_target=sources.slots_per_target)
    graphed = packed and recipe.step.cuda_graph != "off"
    data = with_sizes(recipe.data, source=sources.tokenizers.source, target=sources.tokenizers.target)
    recipe = recipe.model_copy(update={"data": data})
    recipe = settled(recipe, shape, precision=precision, compiled=compiled, graphed=graphed)
    model = build_model(recipe, sources.tokenizers, device=device)
    if precision == "bf16":
        model = model.half_precision_copy(torch.bfloat16)
    model.kernel = "varlen" if packed else "padded"
    loss = build_loss(recipe.loss, num_ids=sources.tokenizer.num_ids, device=device)
    if compiled:
        model.compile_blocks()

    def objective(pack: Pack) -> LossOutput:
        with autocast(precision, device):
            return loss(model(pack), model.output_matrix, pack.labels)

    return Parts(
        recipe=recipe,
        device=device,
        precision=precision,
        sources=sources,
        shape=shape,
        ledger=Ledger.of(sources.corpora),
        pace=pace,
        model=model,
        objective=objective,
        loss=loss,
        optimizer=build_optimizer(
            recipe.step.optimizer,
            model,
            weight_clip=recipe.step.weight_clip,
            ema=recipe.step.ema,
            role_of=model.role_of,
        ),
        clip=build_clip(recipe.step.clip),
        scale=LossScale(enabled=precision == "fp16_mixed", device=device),
        gate=OutlierGate(recipe.guard),
        graphs=StepGraphs(device=device, variant=lambda: loss.truncating) if graphed else None,
    )


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
