"""The loop without records, with a health check beside it."""

from dataclasses import dataclass, replace
from typing import Any

from trimtab.build import Parts
from trimtab.step.take_step import take_step
from trimtab.tasks.text.validation_scores import loss_of
from trimtab.training.health import HealthCheck, Look
from trimtab.types import TrainState


@dataclass
class Watched:
    parts: Parts
    health: HealthCheck
    looks: list[Look]
    state: TrainState

    @property
    def codes(self) -> list[str]:
        """Of everything that was told."""
        return [finding.code for look in self.looks for finding in look.findings]

    def finding(self, code: str) -> Any:
        """The first that was told with this code."""
        return next(each for look in self.looks for each in look.findings if each.code == code)

    def train(self, steps: int, *, every: int = 50) -> "Watched":
        """So many steps on, with a look at every so many."""
        for window, packs in self.parts.stream.batches(self.state.position, step=self.state.step):
            if steps == 0:
                break
            steps -= 1
            self.step(packs)
            self.state = replace(self.state, position=window.position)
            if self.state.step % every == 0:
                self.look()
        return self

    def step(self, packs: Any) -> None:
        self.parts.stepper.begin(self.state)
        rate = self.parts.learning_rate.at(self.state)
        report = take_step(
            self.parts.stepper.objective,
            self.parts.stepper.optimizer,
            packs,
            clip=self.parts.stepper.clip,
            scale=self.parts.stepper.scale,
            learning_rate=rate,
        )
        self.state = replace(self.state, step=self.state.step + 1)
        self.health.after_step(report)
        self.health.after_flush(
            grad_norm=float(report.grad_norm),
            clipped=bool(report.clipped),
            applied=not report.skipped,
            learning_rate=rate,
        )

    def look(self) -> Look:
        """As an evaluation does."""
        valid = next(iter(self.parts.datasets.valid.values()), None)
        self.parts.model.eval()
        with self.health.watching(self.parts.model, valid.rows if valid else 0):
            if valid is not None:
                loss_of(self.parts, self.parts.model, valid)
        self.looks.append(self.health.look())
        self.parts.model.train()
        return self.looks[-1]


def watched(parts: Parts) -> Watched:
    """A run that has not begun."""
    return Watched(
        parts, HealthCheck(parts.model, parts.learning_rate, parts.recipe.step.clip), [], TrainState()
    )
