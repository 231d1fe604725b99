"""The health of a run, checked at each evaluation: updates, sizes of weights and activations, cost of steps."""

import math
from collections.abc import Collection, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from torch import nn

from trimtab.config.step import Clip, ClipGlobalNorm
from trimtab.finding import Finding
from trimtab.model.encoder_mix import mix_weights
from trimtab.model.experts import expert_loads
from trimtab.model.mixture_of_depths import depth_loads
from trimtab.model.positions.combined import faded_weights
from trimtab.step.learning_rate import LearningRate
from trimtab.training.activation_statistics import ActivationStatistics, watching
from trimtab.types import StepReport
from trimtab.watch.attention_places import IDS, Vocabulary
from trimtab.watch.clipping import ClipWatch
from trimtab.watch.data_wait import DataWait
from trimtab.watch.movement import marks, never_moved, unmoved
from trimtab.watch.unseen_tokens import UnseenTokens
from trimtab.watch.update_ratio import UpdateRatios, out_of_range

FEWEST_UPDATES = 100
"""Updates after which a tensor must have moved."""
SPACING = 25
"""Of so many steps one is measured for how far it moves the weights."""
HIGH_RATE = 0.1
"""Share of the peak rate below which steps are not judged: a schedule that ends at zero moves nothing at its end."""
APART = 100
"""Steps between two looks inside the model: an evaluation that comes sooner costs less than a look."""
REPEATED = ("M902", "M903", "M905")
"""Told at each evaluation where they are errors, since a run that ends with one has failed."""


@dataclass(frozen=True, slots=True)
class Look:
    """What one look gave."""

    scores: dict[str, float]
    """For the line of the evaluation."""
    findings: list[Finding]
    """To be told: errors each time, anything else when it was not so at the last look."""
    over: tuple[str, ...]
    """Codes that no longer apply, or are reported again; forget their earlier findings."""
    details: dict[str, dict[str, float]] = field(default_factory=dict[str, dict[str, float]])
    """Numbers by layer or tensor, for the log."""


@dataclass(slots=True)
class HealthCheck:
    """Keeps what it needs from step to step in plain attributes; none of it is saved, a resumed run starts again.

    It changes no weight, gradient, moment, random number or mode.
    """

    model: nn.Module
    learning_rate: LearningRate
    clip: Clip
    """As the recipe says it."""
    only: Collection[str] | None = None
    """Names of the weights that this rank trains; None for all."""
    steps: int = 0
    """Steps since the beginning, which is a resume where there was one."""
    steps_of_look: int = 0
    """Of the last look inside the model."""
    measurable: int = 0
    """Steps at a rate that is worth measuring."""
    updates: int = 0
    """Updates at such a rate."""
    reported: frozenset[str] = frozenset()
    """Codes that held at the last look."""
    resting: dict[str, int] = field(init=False)
    """Marks, from the beginning, of the tensors that were not seen to move."""
    trainable: int = field(init=False)
    ratios: UpdateRatios = field(init=False)
    lookups: frozenset[str] = field(init=False)
    """Names of the embeddings."""
    clipping: ClipWatch | None = field(init=False)
    waiting: DataWait = field(default_factory=DataWait)
    loads: dict[str, float] = field(default_factory=dict[str, float])
    """Of the experts of each layer, see `model.experts.expert_loads`."""
    unseen: UnseenTokens = field(default_factory=lambda: UnseenTokens({}))
    """Rows of embeddings that no example has read."""
    depths: dict[str, float] = field(default_factory=dict[str, float])
    """Of the layers with a router, see `model.mixture_of_depths.depth_loads`."""
    vocabulary: Vocabulary = IDS
    """Spells the tokens that a look names."""
    inside: ActivationStatistics | None = None
    """Of the newest look; what it found holds until the next."""

    def __post_init__(self) -> None:
        model, clip = self.model, self.clip
        self.resting = marks(model, only=self.only)
        self.trainable = len(self.resting)
        self.ratios = UpdateRatios(
            {
                name: each
                for name, each in model.named_parameters()
                if each.requires_grad and each.numel() and (self.only is None or name in self.only)
            }
        )
        self.lookups = frozenset(
            f"{name}.weight" for name, each in model.named_modules() if isinstance(each, nn.Embedding)
        )
        self.clipping = ClipWatch(clip.at) if isinstance(clip, ClipGlobalNorm) else None

    def after_step(self, report: StepReport) -> None:
        """Measures now and then how far the weights move; never waits for the device."""
        self.steps += 1
        if report.learning_rate >= HIGH_RATE * self.learning_rate.peak:
            self.measurable += 1
            match self.measurable % SPACING:
                case 0:
                    self.ratios.before()
                case 1:
                    self.ratios.after(applied=1 - report.skipped)
                case _:
                    pass

    def after_flush(self, *, grad_norm: float, clipped: bool, applied: bool, learning_rate: float) -> None:
        """Counts one step by its plain numbers."""
        self.updates += applied and learning_rate >= HIGH_RATE * self.learning_rate.peak
        if self.clipping is not None:
            self.clipping.add(grad_norm, clipped=clipped)

    @contextmanager
    def watching(self, model: Any, rows: int) -> Generator[None]:
        """While it is open and `model`, which may be a copy, reads a set of so many `rows` for its loss, looks inside
        it once; 0 rows are not looked at."""
        if not rows or self.steps < self.steps_of_look + APART:
            yield
            return
        self.steps_of_look = self.steps
        with watching(model, sentences=rows, vocabulary=self.vocabulary) as found:
            yield
        self.inside = found[0] if found else self.inside
        self.loads, self.depths = expert_loads(model), depth_loads(model)

    def look(self) -> Look:
        """Numbers and findings of now, with what was seen while `watching`."""
        looks = (self.look_at_movement, self.look_at_ratios, self.look_at_steps, self.look_at_activations)
        scores: dict[str, float] = {}
        found = [finding for look in looks for finding in look(scores)]
        return replace(self.to_report(scores, found), details=self.details())

    def details(self) -> dict[str, dict[str, float]]:
        """Numbers by layer, tensor, token or part of a text; those from inside the model where this look saw it."""
        found = {"update_ratios": self.ratios.medians()}
        if self.inside is not None and self.steps_of_look == self.steps:
            found["rms_by_depth"] = self.inside.activations.left
            found["position_use"] = self.inside.positions
            found["context_use"] = self.inside.context
            found["distinct_by_depth"] = self.inside.activations.distinct
            found["gradient_rms"] = self.inside.gradients
            found["attention_by_token"] = self.inside.attention_by_token
            found["attention_on_source"] = self.inside.source_parts
        found["unseen_tokens"] = self.unseen.shares()
        found["encoder_mix"] = mix_weights(self.model)
        found["expert_load"] = self.loads
        found["depth_load"] = self.depths
        return {
            kind: {name: float(f"{value:.4g}") for name, value in each.items() if math.isfinite(value)}
            for kind, each in found.items()
            if each
        }

    def look_at_movement(self, scores: dict[str, float]) -> list[Finding]:
        """M902; what has moved once is not looked at again."""
        if not self.resting or self.updates < FEWEST_UPDATES:
            return []
        now = marks(self.model, only=self.resting.keys() - faded_weights(self.model))
        self.resting = {name: now[name] for name in never_moved(self.resting, now)}
        found = unmoved([*self.resting], of=self.trainable, updates=self.updates)
        return [found] if found else []

    def look_at_ratios(self, scores: dict[str, float]) -> list[Finding]:
        """S920 and S921, by the newest measurements."""
        ratios = self.ratios.medians()
        if ratios:
            scores["update_ratio_median"] = sorted(ratios.values())[len(ratios) // 2]
        return out_of_range(ratios, lookups=self.lookups, multipliers=self.learning_rate.multipliers)

    def look_at_steps(self, scores: dict[str, float]) -> list[Finding]:
        """S922, S923 and P901."""
        found = [self.waiting.look()]
        if self.clipping is not None:
            scores["clip_rate"] = self.clipping.share
            found.append(self.clipping.look())
        scores["data_wait"] = self.waiting.share
        return [each for each in found if each]

    def look_at_activations(self, scores: dict[str, float]) -> list[Finding]:
        """M903 to M906."""
        if self.inside is None:
            return []
        if self.steps_of_look == self.steps:
            scores |= self.inside.scores
        return self.inside.findings

    def to_report(self, scores: dict[str, float], found: list[Finding]) -> Look:
        """What of the findings is news, and which old ones are over."""
        news = [each for each in found if each.severity == "error" or each.code not in self.reported]
        held, again = frozenset(each.code for each in found), {each.code for each in news}
        over = tuple(sorted((self.reported | {*REPEATED}) - held | again))
        self.reported = held
        rounded = {name: float(f"{value:.4g}") for name, value in scores.items() if math.isfinite(value)}
        return Look(rounded, news, over)
