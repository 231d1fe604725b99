"""Steps that a run left out since it went back: which ones, and what of the branch that took them is still known."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

MASKED = "masked"
"""What a line of `metrics.jsonl` says of such a step, as `refused`."""

Stretch = tuple[int, int]
"""First and last step."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A step that the present branch of a run has not taken."""

    step: int
    stretch: Stretch
    """The steps that are left out together with it; with the first of them the branches part."""
    went_back_from: int | None
    """The step at which the other branch ended; None if no checkpoint knows it any more."""
    earlier: tuple[Stretch, ...] = ()
    """Stretches that the other branch left out itself."""
    refused: bool = False
    """Whether the other branch refused the step, as `quarantine.jsonl` tells."""
    from_its_checkpoint: bool = False
    """Whether the replay began with a checkpoint of the other branch, rather than with one from before they differ."""

    @property
    def was_taken(self) -> bool:
        """Whether the other branch came as far as the step."""
        return self.went_back_from is None or self.step <= self.went_back_from

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "first": self.stretch[0],
            "last": self.stretch[1],
            "went_back_from": self.went_back_from,
            "was_taken": self.was_taken,
            "from_its_checkpoint": self.from_its_checkpoint,
        }


def went_back_from(guard: Mapping[str, Any]) -> list[int]:
    """The steps from which a run went back, oldest first, as the guard's part of a checkpoint has them."""
    return [int(step) for step in guard.get("refusals", {}).get("rewound", ())]


def left_out(
    step: int,
    *,
    records: Mapping[int, Mapping[str, Any]],
    guard: Mapping[str, Any],
    refused: frozenset[int] = frozenset(),
) -> LeftOut | None:
    """What is known of a step that was left out; None if the run took it.

    `records` are lines of `metrics.jsonl` by step, `guard` is that of the newest checkpoint, `refused` are the steps in
    `quarantine.jsonl`. A step that has no line, but is in a stretch, is left out when the run comes to it.
    """
    if not _is_left_out(records, step):
        return None
    stretches = [(int(first), int(last)) for first, last in guard.get("masked", ())]
    number = next((n for n, each in enumerate(stretches) if _within(step, each)), None)
    if number is None:
        return None if step not in records else _from_metrics(step, records, refused)
    earlier, last = tuple(stretches[:number]), stretches[number][1]
    # A run may go back to a checkpoint within the stretch: the steps up to it are those of both branches. Neither took
    # what was left out before.
    first = next(
        each
        for each in range(max(1, stretches[number][0]), step + 1)
        if _is_left_out(records, each) and not any(_within(each, other) for other in earlier)
    )
    ends = went_back_from(guard)
    return LeftOut(
        step,
        stretch=(first, last),
        went_back_from=ends[number] if number < len(ends) else None,
        earlier=earlier,
        refused=step in refused,
    )


def _from_metrics(step: int, records: Mapping[int, Mapping[str, Any]], refused: frozenset[int]) -> LeftOut:
    """By the lines around it alone."""
    first = last = step
    while first - 1 in records and _is_left_out(records, first - 1):
        first -= 1
    while last + 1 in records and _is_left_out(records, last + 1):
        last += 1
    return LeftOut(step, (first, last), None, refused=step in refused)


def _is_left_out(records: Mapping[int, Mapping[str, Any]], step: int) -> bool:
    return step not in records or records[step].get("refused") == MASKED


def _within(step: int, stretch: Stretch) -> bool:
    return stretch[0] <= step <= stretch[1]
