"""The gradient noise scale: how large a step may be before more targets in it are mostly waste.

Source: McCandlish et al., arXiv 1812.06162, section 2.2 and appendix A.1, the simple noise scale: tr(S) / |G|^2 with S
the covariance of the gradient of one target over the data and G the mean gradient, both from norms of gradients over
few and many targets.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from trimtab.config.run import Recipe
from trimtab.errors import RunFailed, input_error
from trimtab.progress import Progress, Silent
from trimtab.tuning.trial import RestorePoint, Source, Trial, opened
from trimtab.types import Batch

STEPS = 16
PARTS = 8
"""Micro-batches that a step is cut into, where its examples are short enough."""
QUANTILES = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13)
"""Of Student's t, two-sided 95%, for 1, 2, ... degrees of freedom; 2 beyond."""


@dataclass(frozen=True, slots=True)
class Norms:
    """Squared norms of the gradients of one step, each a mean over the targets it is made of."""

    whole: float
    num_targets: int
    parts: tuple[float, ...]
    """Of each micro-batch."""
    targets: tuple[int, ...]
    """How many each has."""

    @property
    def noise(self) -> float:
        """An unbiased estimate of tr(S): E|g|^2 is |G|^2 + tr(S) / B for B targets (appendix A.1)."""
        inverse = sum(1 / each for each in self.targets) / len(self.targets)
        return (sum(self.parts) / len(self.parts) - self.whole) / (inverse - 1 / self.num_targets)

    @property
    def signal(self) -> float:
        """An unbiased estimate of |G|^2, which may be below zero."""
        return self.whole - self.noise / self.num_targets


@dataclass(frozen=True, slots=True)
class NoiseScale:
    """What was measured, in target tokens."""

    name: str
    step: int
    """At which the weights were; the noise scale grows as the loss falls."""
    noise_scale: float
    """Infinite where no mean gradient was found under the noise."""
    low: float
    high: float
    """95% interval of it, over steps (jackknife); infinite where it has no bound."""
    noise: float
    signal: float
    tokens_per_step: int
    targets: str
    """What is counted: target tokens, examples."""
    is_scale_invariant: bool
    """Of the optimizer's updates."""
    learning_rate: float
    measured: tuple[Norms, ...]

    @property
    def more_targets(self) -> float:
        """How many targets steps of this size need for the same progress, against very small ones (section 2.3)."""
        return 1 + self.tokens_per_step / self.noise_scale

    @property
    def more_steps(self) -> float:
        """How many steps they need, against very large ones."""
        return 1 + self.noise_scale / self.tokens_per_step

    def rate_at(self, tokens_per_step: int | float) -> float:
        """The learning rate for steps of another size: by the square root of the ratio where an optimizer divides by
        the gradient's size (Malladi et al., arXiv 2205.10287), in proportion for SGD (Goyal et al., 1706.02677)."""
        ratio = tokens_per_step / self.tokens_per_step
        return self.learning_rate * (math.sqrt(ratio) if self.is_scale_invariant else ratio)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; what is infinite is null."""

        def plain(value: float) -> float | None:
            return value if math.isfinite(value) else None

        known = math.isfinite(self.noise_scale)
        return {
            "recipe": self.name,
            "step": self.step,
            "noise_scale": plain(self.noise_scale),
            "interval": [plain(self.low), plain(self.high)],
            "covariance_trace": self.noise,
            "squared_gradient": self.signal,
            "tokens_per_step": self.tokens_per_step,
            "times_the_targets": self.more_targets if known else None,
            "times_the_steps": plain(self.more_steps),
            "learning_rate": self.learning_rate,
            "learning_rate_at_noise_scale": self.rate_at(self.noise_scale) if known else None,
            "rule": "square root" if self.is_scale_invariant else "linear",
            "steps_measured": len(self.measured),
            "micro_batches": sum(len(each.parts) for each in self.measured),
        }


def find_noise_scale(
    recipe: Source,
    *,
    overrides: Sequence[str] | dict[str, Any] = (),
    steps: int = STEPS,
    device: str | None = None,
    progress: Progress | None = None,
) -> NoiseScale:
    """Measures the noise scale of a recipe at its first weights, or of a run at a checkpoint (`runs/my@2000`).

    Takes the next `steps` steps' gradients without moving the weights, dropout as in training. Each step is cut into
    about 8 micro-batches, or as many as the recipe has; `tokens_per_step` stays. Nothing is written. Raises InputError
    for wrong input, and where a step cannot be cut into two; RunFailed where a gradient is not finite.
    """
    progress = progress or Silent()
    with opened(recipe, overrides, step=finer_cut, device=device, progress=progress) as trial:
        return measured_scale(trial, steps=steps, progress=progress)


def finer_cut(recipe: Recipe) -> dict[str, Any]:
    """What to change in `step` to have enough micro-batches; their gradients are kept. InputError where the examples
    are too long for two of them."""
    if recipe.facts.in_a_step:
        raise input_error(
            f"task: the noise scale of {recipe.task} is not measured",
            got=f"steps that count {recipe.facts.in_a_step}, and a loss that is divided by {recipe.facts.targets}",
            allowed="tasks whose steps count what the loss is divided by",
            fix="compare two sizes of a step by a short run each",
        )
    step, longest = recipe.step, recipe.facts.targets_of_longest(recipe.data.max_tokens)
    kept: dict[str, Any] = {"gradients": "kept"}
    if -(-step.tokens_per_step // step.micro_batch_tokens) >= PARTS:
        return kept
    tokens = max(longest, -(-step.tokens_per_step // PARTS))
    if 2 * longest > step.tokens_per_step:
        raise input_error(
            "step.tokens_per_step: too few for two micro-batches, which the noise scale is measured from",
            got=f"{step.tokens_per_step}, where an example may have {longest}",
            allowed=f"{2 * longest} or more",
            fix=f"add `step.tokens_per_step={8 * longest}` to the command",
        )
    if tokens >= step.micro_batch_tokens:
        return kept
    return {**kept, "tokens_per_micro_batch": tokens, "source_tokens_per_micro_batch": None}


def measured_scale(trial: Trial, *, steps: int, progress: Progress) -> NoiseScale:
    """The measurement on an opened run, which is afterwards as it was before, to the bit."""
    point, found = RestorePoint(trial.parts), list[Norms]()
    try:
        trial.parts.model.train()
        for number, packs in enumerate(trial.batches(steps)):
            trial.parts.stepper.begin(trial.at(number))
            norms = norms_of_step(trial, packs)
            if norms is not None:
                found.append(norms)
            if number + 1 in (steps // 4, steps // 2, steps * 3 // 4):
                progress.message(f"{number + 1} of {steps} steps measured")
    finally:
        point.restore()
    if len(found) < 2:
        raise RunFailed("fewer than two steps had two micro-batches with targets: give more --steps")
    step, recipe = trial.parts.recipe.step, trial.parts.recipe
    noise, signal, scale, low, high = estimated(found)
    return NoiseScale(
        name=trial.name,
        step=trial.state.step,
        noise_scale=scale,
        low=low,
        high=high,
        noise=noise,
        signal=signal,
        tokens_per_step=step.tokens_per_step,
        targets=recipe.facts.targets,
        is_scale_invariant=step.optimizer.is_scale_invariant,
        learning_rate=step.optimizer.learning_rate,
        measured=tuple(found),
    )


def norms_of_step(trial: Trial, packs: Sequence[Batch]) -> Norms | None:
    """The norms of a step's gradients by the present weights; None where fewer than two micro-batches have targets."""
    packs = [pack for pack in packs if pack.num_targets]
    if len(packs) < 2:
        return None
    parameters = [each for each in trial.parts.stepper.optimizer.parameters if each.requires_grad]
    total = sum(pack.num_targets for pack in packs)
    sums = [torch.zeros_like(each, dtype=torch.float32) for each in parameters]
    squares = list[float]()
    scale = trial.parts.stepper.scale
    factor = float(scale.factor) if scale.enabled else 1.0
    for pack in packs:
        for each in parameters:
            each.grad = None
        out = trial.parts.stepper.objective(pack.to(trial.parts.device))
        scale.up(out.objective / pack.num_targets).backward()
        squares.append(squared_norm([each.grad for each in parameters if each.grad is not None]) / factor**2)
        with torch.no_grad():
            for sum_, each in zip(sums, parameters, strict=True):
                if each.grad is not None:
                    sum_.add_(each.grad, alpha=pack.num_targets / total / factor)
    for each in parameters:
        each.grad = None
    found = Norms(squared_norm(sums), total, tuple(squares), tuple(pack.num_targets for pack in packs))
    if not all(map(math.isfinite, (found.whole, *squares))):
        raise RunFailed("a gradient is not finite; `trimtab train` says which check fails")
    return found


def squared_norm(tensors: Sequence[torch.Tensor]) -> float:
    """Of all numbers together, added in float64."""
    if not tensors:
        return 0.0
    norms = torch.stack([torch.linalg.vector_norm(each, dtype=torch.float32) for each in tensors])
    return float(norms.double().square().sum())


def estimated(found: Sequence[Norms]) -> tuple[float, float, float, float, float]:
    """tr(S), |G|^2, their ratio and its 95% interval. The ratio is of means, since a mean of ratios is biased (appendix
    A.1); the interval is of its inverse, which has no pole where |G|^2 is small."""
    noises, signals = [each.noise for each in found], [each.signal for each in found]
    noise, signal, count = sum(noises) / len(found), sum(signals) / len(found), len(found)
    if noise <= 0:  # fewer differences than rounding
        return noise, signal, 0.0, 0.0, 0.0
    left = [
        (sum(signals) - each_signal) / max(1e-300, sum(noises) - each_noise)
        for each_noise, each_signal in zip(noises, signals, strict=True)
    ]
    mean = sum(left) / count
    error = math.sqrt((count - 1) / count * sum((each - mean) ** 2 for each in left))
    wide = (QUANTILES[count - 2] if count - 2 < len(QUANTILES) else 2.0) * error
    inverse = signal / noise

    def scale(value: float) -> float:
        return 1 / value if value > 0 else math.inf

    return noise, signal, scale(inverse), scale(inverse + wide), scale(inverse - wide)


def advice(found: NoiseScale) -> list[str]:
    """What it means for the recipe, in lines."""
    unit, size = found.targets, found.tokens_per_step
    if not math.isfinite(found.noise_scale):
        least = f"at least {found.low:,.0f} {unit}" if math.isfinite(found.low) else "not measurable"
        return [
            f"noise scale: {least}; the mean gradient is too small to separate from the noise",
            "Measure more steps (--steps).",
        ]
    upper = f"{found.high:,.0f}" if math.isfinite(found.high) else "no upper bound"
    lines = [
        f"noise scale at step {found.step}: {found.noise_scale:,.0f} {unit} "
        f"(95% interval {found.low:,.0f} to {upper})",
        f"at {size:,} per step, training needs {found.more_targets:.2f} times the minimum number of {unit} and "
        f"{found.more_steps:.2f} times the minimum number of steps",
    ]
    if size > 2 * found.noise_scale:
        lines.append(f"That is above the noise scale: larger steps mostly waste {unit}.")
    elif size < found.noise_scale / 2:
        lines.append("Larger steps would save time where they run in parallel, at nearly the same cost.")
    else:
        lines.append("That is near the noise scale, which balances tokens and steps.")
    rule = "with the square root of" if found.is_scale_invariant else "in proportion to"
    other = _round_size(found.noise_scale)
    lines.append(
        f"If you change step.tokens_per_step, change the learning rate {rule} it: {found.rate_at(other):.2g} at "
        f"{other:,}, where the recipe has {found.learning_rate:.2g} at {size:,}."
    )
    return lines


def _round_size(scale: float) -> int:
    """The nearest power of two."""
    return 2 ** max(0, round(math.log2(max(1.0, scale))))
