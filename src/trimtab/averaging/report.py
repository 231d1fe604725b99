"""What was averaged, and what it gained."""

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeGuard

from trimtab.metrics.catalogue import OF_THE_LOSS, metric_of
from trimtab.metrics.loss import LOSS

AVERAGE = "average"
"""The name of the result beside those of the single ones."""

Kind = Literal["mean", "moving average", "greedy soup"]
Perplexities = dict[str, float]
"""`perplexity`, `byte_perplexity` and `bits_per_byte` of one set of weights."""
BRIEF = [metric for metric in OF_THE_LOSS.values() if metric.brief]
"""Metrics of language models that people see beside each loss."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The measure that a run chooses its best checkpoint by, of single checkpoints and of the average."""

    metric: str
    set: str
    how: str
    """Lines and beam, or documents."""
    signature: str
    lower_is_better: bool
    scores: dict[str, float | None]
    """By label; the average's under `average`."""

    @property
    def best_single(self) -> str | None:
        """The label of the best single one; None if none has a score."""
        known = {
            label: score for label, score in self.scores.items() if label != AVERAGE and _is_number(score)
        }
        choose = min if self.lower_is_better else max
        return choose(known, key=lambda label: known[label]) if known else None

    @property
    def gain(self) -> float | None:
        """By how much the average is better than the best single one; negative where it is worse."""
        best, score = self.best_single, self.scores.get(AVERAGE)
        over = self.scores[best] if best is not None else None
        if over is None or not _is_number(score):
            return None
        return over - score if self.lower_is_better else score - over

    @property
    def digits(self) -> int:
        """Decimal places, where people read a score."""
        return metric_of(self.metric).fine_digits


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """One candidate of a greedy soup, in the order in which they were tried."""

    label: str
    score: float | None
    """Alone."""
    with_it: float | None
    """Of the soup with it; None if it was not cooked."""
    taken: bool


@dataclass(frozen=True, slots=True)
class AverageReport:
    """What was averaged, and what it gained."""

    folder: Path
    members: tuple[str, ...]
    losses: dict[str, dict[str, float | None]]
    """For each validation set the loss (nats per target token) of each single one, and of the result under `average`;
    empty if the sets cannot be read any more."""
    unread: str = ""
    """Why there are none."""
    kind: Kind = "mean"
    comparison: Comparison | None = None
    tried: tuple[Tried, ...] = ()
    """Of a greedy soup."""
    notes: tuple[str, ...] = ()
    """What the reader must know, such as a refusal that was overridden and why."""
    perplexities: dict[str, dict[str, Perplexities]] = field(
        default_factory=dict[str, dict[str, Perplexities]]
    )
    """Of language models the same as `losses`, with all that follows from a loss in its place; none where no pair
    fits."""

    def __repr__(self) -> str:
        losses = [
            f"{name} loss {each['average']:.4g}" for name, each in self.losses.items() if each.get("average")
        ]
        return f"AverageReport({', '.join([repr(str(self.folder)), f'{self.kind} of {len(self.members)}', *losses])})"

    def to_dict(self) -> dict[str, Any]:
        """Plain data; numbers that are not finite as None."""
        tree: dict[str, Any] = asdict(self) | {"folder": str(self.folder)}
        if self.comparison is not None:
            tree["comparison"] |= {"best_single": self.comparison.best_single, "gain": self.comparison.gain}
        return _plain(tree)

    @property
    def what(self) -> str:
        """What the result is, in a phrase."""
        match self.kind:
            case "mean":
                return f"the mean of {len(self.members)} checkpoints"
            case "moving average":
                return f"the moving average of the weights, {self.members[0]}"
            case "greedy soup":
                return f"a greedy soup of {len(self.members)} of {len(self.tried)} checkpoints"

    def render(self) -> str:
        """Lines for people."""
        lines = [f"{self.folder}: {self.what}", *self._tried()]
        for name, losses in self.losses.items():
            width = max(map(len, losses))
            lines.append(f"loss on {name}:")
            follows = self.perplexities.get(name, {})
            lines += [
                f"  {label:{width}}  {_loss(loss)}{_shown_perplexities(follows.get(label, {}))}"
                for label, loss in losses.items()
            ]
            lines += _gained_loss(losses, follows)
        if (compared := self.comparison) is not None and compared.metric != "loss":
            width = max(map(len, compared.scores))
            lines.append(f"{compared.metric} on {compared.set} ({compared.how}):")
            digits = compared.digits
            lines += [
                f"  {label:{width}}  {number(score, digits=digits)}"
                for label, score in compared.scores.items()
            ]
            lines.append(f"  {gain_in_words(compared)}")
        lines += [f"note: {note}" for note in self.notes]
        return "\n".join([*lines, *([f"not scored: {self.unread}"] if self.unread else [])])

    def _tried(self) -> Iterator[str]:
        digits = 2 if self.comparison is None else self.comparison.digits
        for each in self.tried:
            cooked = (
                "" if each.with_it is None else f", the soup with it {number(each.with_it, digits=digits)}"
            )
            alone = number(each.score, digits=digits)
            yield f"  {'in ' if each.taken else 'out'}  {each.label}: alone {alone}{cooked}"


def gain_in_words(compared: Comparison) -> str:
    """What an average gained, in words."""
    if compared.gain is None:
        return "nothing to compare: a score is missing"
    gained = f"{compared.gain:+.{compared.digits}f} against the best single one, {compared.best_single}"
    return gained if compared.gain > 0 else f"no gain: {gained}"


def number(score: float | None, *, digits: int = 2) -> str:
    """A score for people."""
    return "none" if score is None else f"{score:.4g}" if not math.isfinite(score) else f"{score:.{digits}f}"


def _loss(loss: float | None) -> str:
    return "no pair fits" if loss is None else f"{loss:.{LOSS.fine_digits}f}"


def _shown_perplexities(found: Perplexities) -> str:
    if not found:
        return ""
    shown = [
        metric.phrase.format(metric.label, number(found[metric.name], digits=metric.fine_digits))
        for metric in BRIEF
    ]
    return f"  {', '.join(shown)}"


def _gained_loss(losses: dict[str, float | None], follows: dict[str, Perplexities]) -> list[str]:
    known = {label: loss for label, loss in losses.items() if label != AVERAGE and _is_number(loss)}
    mean = losses[AVERAGE]
    if not known or not _is_number(mean):
        return []
    # Of one set the rest rises and falls with the loss, so that the same one is best by all of them.
    best = min(known, key=lambda label: known[label])
    if known[best] <= mean:
        return ["  no gain"]
    gained = f"  {known[best] - mean:+.4f} nats against the best of them"
    if not follows:
        return [gained]
    fallen = {name: follows[best][name] - follows[AVERAGE][name] for name in follows[AVERAGE]}
    shown = [
        metric.phrase.format(metric.label, f"{-fallen[metric.name]:+.{metric.fine_digits}f}")
        for metric in BRIEF
    ]
    return [f"{gained}: {', '.join(shown)}"]


def _is_number(score: float | None) -> TypeGuard[float]:
    return score is not None and math.isfinite(score)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
