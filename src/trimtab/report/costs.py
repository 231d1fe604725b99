"""Where the time of a run went, and its memory, planned against measured."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from trimtab.report.plain_values import count, is_number, mapping, named_numbers
from trimtab.report.run_data import RunData

MOST_OWNERS = 40


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes of a GPU."""

    planned: int
    """Reserved at the peak, by the planner; 0 where there is no plan."""
    measured: int
    """Reserved at most, by PyTorch; 0 where it is not known."""
    card: int
    owners: Sequence[tuple[str, float]]
    """What lies in memory at the planned peak, the largest first."""

    @property
    def difference(self) -> float:
        """By how much the measured peak is above the plan, as a share of the plan; NaN where one is missing."""
        return (self.measured - self.planned) / self.planned if self.planned and self.measured else math.nan


def memory_of(run: RunData) -> Memory | None:
    """The memory of a run on a GPU; None where nothing is known of it. While it trains, the largest reading so far
    stands for the measured peak."""
    known = mapping(run.facts.get("memory"))
    planned, measured = mapping(known.get("planned")), mapping(known.get("measured"))
    readings = run.steps.column("gpu_memory")
    readings = readings[readings == readings]
    most = count(measured.get("reserved")) or (int(min(readings.max(), 2**60)) if len(readings) else 0)
    if not planned and not most:
        return None
    owners = sorted(named_numbers(planned.get("owners"), MOST_OWNERS), key=lambda each: -each[1])
    return Memory(
        count(planned.get("reserved")), most, count(planned.get("card")), [o for o in owners if o[1] > 0]
    )


def time_of(run: RunData) -> list[tuple[str, float, str]]:
    """Where the time went: what, seconds, in words."""
    training = run.last("seconds")
    if not math.isfinite(training):
        return []
    share = next(
        (each["data_wait"] for each in reversed(run.health) if is_number(each.get("data_wait"))), 0.0
    )
    evaluating = sum(each["seconds"] for each in run.evaluations if is_number(each.get("seconds")))
    found = [
        ("steps", training * (1 - share), "forward, backward, update"),
        (
            "waiting for data",
            training * share,
            "the loop had no batch; by the newest look at the run's health",
        ),
        ("evaluations", evaluating, f"{len(run.evaluations)} of them, samples and metrics included"),
    ]
    return [each for each in found if each[1] > 0]
