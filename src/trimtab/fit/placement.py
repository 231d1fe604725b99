"""Tasks on ranks, so that work is even and little has to be communicated: what is placed, and what a placement costs.

A task is a translation direction. It runs through components, and may run on several ranks, each with a share of its
work. A rank holds the components of its tasks; after the backward pass the ranks that hold a component sum its
gradients. A ring does that with 2 (k - 1) times the bytes of the component between k ranks (Patarasuk and Yuan 2009,
doi 10.1016/j.jpdc.2008.09.002).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

EVEN = 1e-9
"""Relative error of sums of shares."""


@dataclass(frozen=True, slots=True)
class TaskToPlace:
    """A task with its work in a step and the components that it needs."""

    name: str
    work: float
    """Any unit, the same for all tasks."""
    needs: frozenset[str]


@dataclass(frozen=True, slots=True)
class Instance:
    """What is placed: tasks, the bytes of the gradient of each component, and the ranks."""

    tasks: tuple[TaskToPlace, ...]
    bytes_of: Mapping[str, int]
    ranks: int
    slack: float = 0.05
    """How much more than the mean a rank may do: 0.05 leaves the others waiting 4.8% of the time."""

    @property
    def work(self) -> float:
        """Of all tasks in a step."""
        return math.fsum(direction.work for direction in self.tasks)

    @property
    def capacity(self) -> float:
        """The most work of one rank."""
        return self.work / self.ranks * (1 + self.slack)

    def needed(self, tasks: Sequence[int]) -> frozenset[str]:
        """The components of these tasks."""
        return frozenset[str]().union(*(self.tasks[each].needs for each in tasks))


@dataclass(frozen=True, slots=True)
class Placement:
    """The work of each task on each rank."""

    instance: Instance
    work: tuple[Mapping[int, float], ...]
    """By rank, the work of tasks by their number."""

    @property
    def holders(self) -> dict[str, int]:
        """The ranks that hold a component, by their number."""
        held = [self.instance.needed(list(rank)) for rank in self.work]
        return {name: sum(name in each for each in held) for name in self.instance.bytes_of}

    @property
    def communicated(self) -> int:
        """Bytes that all ranks send in a step."""
        return sum(_sent(self.instance.bytes_of[name], count) for name, count in self.holders.items())

    @property
    def communicated_by_rank(self) -> list[int]:
        """Bytes that each rank sends."""
        holders = self.holders
        return [
            round(sum(_sent(self.instance.bytes_of[name], holders[name]) / holders[name] for name in held))
            for held in (self.instance.needed(list(rank)) for rank in self.work)
        ]

    @property
    def waiting(self) -> float:
        """The share of the time of all ranks in which they wait for the one with the most work."""
        loads = [math.fsum(rank.values()) for rank in self.work]
        return 1 - self.instance.work / (self.instance.ranks * max(loads))

    @property
    def held_bytes(self) -> list[int]:
        """Bytes of the components of each rank."""
        return [
            sum(self.instance.bytes_of[name] for name in self.instance.needed(list(rank)))
            for rank in self.work
        ]


def least_communicated(instance: Instance) -> int:
    """No placement within the slack communicates less: the work of the tasks of a component needs so many ranks."""
    total = 0
    for name, size in instance.bytes_of.items():
        work = math.fsum(direction.work for direction in instance.tasks if name in direction.needs)
        total += _sent(size, math.ceil(work / instance.capacity - EVEN))
    return total


def data_parallel(instance: Instance) -> Placement:
    """Every task on every rank: the placement that needs no plan."""
    share = {number: direction.work / instance.ranks for number, direction in enumerate(instance.tasks)}
    return Placement(instance, (share,) * instance.ranks)


def _sent(size: int, holders: int) -> int:
    return 2 * max(0, holders - 1) * size
