"""What a run tells whoever watches it."""

from typing import Any, Protocol, runtime_checkable

from trimtab.finding import Finding


@runtime_checkable
class Progress(Protocol):
    """Receives finished facts; may not change anything."""

    def message(self, text: str) -> None:
        """One line about what happens now."""
        ...

    def step(self, metrics: dict[str, Any], *, share: float, seconds_left: float | None) -> None:
        """The metrics of the newest step with the `clips` and `skips` of the run so far, the share of the run that is
        over, and an estimate of what is left."""
        ...

    def evaluation(self, scores: dict[str, Any]) -> None:
        """One line of `evaluations.jsonl`."""
        ...

    def finding(self, finding: Finding) -> None:
        """Something is or may be wrong."""
        ...


@runtime_checkable
class HearsSamples(Protocol):
    """A progress that also shows what the model writes at evaluations."""

    def sample(self, sample: dict[str, Any]) -> None:
        """One line of `samples.jsonl`."""
        ...


class Silent:
    """Tells nothing."""

    def message(self, text: str) -> None:
        """Nothing."""

    def step(self, metrics: dict[str, Any], *, share: float, seconds_left: float | None) -> None:
        """Nothing."""

    def evaluation(self, scores: dict[str, Any]) -> None:
        """Nothing."""

    def finding(self, finding: Finding) -> None:
        """Nothing."""
