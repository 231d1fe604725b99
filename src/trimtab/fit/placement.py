"""Tasks on ranks, so that work is even and little has to be communicated: what is placed, and what a placement costs.

A task is a translation direction. It runs through components, and may run on several ranks, each with a share of its
work. A rank holds the components of its tasks; after the backward pass the ranks that hold a component sum its
gradients. A ring does that with 2 (k - 1) times the bytes of the component between k ranks (Patarasuk and Yuan 2009,
doi 10.1016/j.jpdc.2008.09.002).
"""

import math
from collections.abc import Iterator, Mapping, Sequence
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
    def shares(self) -> list[dict[str, float]]:
        """By rank, the share of each of its tasks, by name."""
        tasks = self.instance.tasks
        return [
            {tasks[task].name: work / tasks[task].work for task, work in rank.items()} for rank in self.work
        ]

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
    """No placement within the slack communicates less.

    The work of the tasks of a component needs so many ranks. Where every task needs exactly one of several components,
    such as the decoders of the languages, each rank that works holds at least one of them. It can hold one alone only
    as far as the work of that one fills it, so where nearly all capacity is needed the other ranks hold two or more.
    More ranks with work have more room, and then everything that all tasks need is held by more of them.
    """
    work = {name: _work_of(instance, name) for name in instance.bytes_of}
    fewest = {name: max(1, math.ceil(each - EVEN)) for name, each in work.items()}
    families = list(_families(instance))
    everywhere = {name for name in work if all(name in each.needs for each in instance.tasks)}
    whole = instance.work / instance.capacity
    found: list[int] = []
    for ranks in range(max(1, math.ceil(whole - EVEN)), instance.ranks + 1):
        total = sum(
            _sent(size, ranks if name in everywhere else fewest[name])
            for name, size in instance.bytes_of.items()
        )
        for family in families:
            least = _least_held([work[name] for name in family], ranks, whole=whole)
            more = max(0, least - sum(fewest[name] for name in family))
            total += 2 * more * min(instance.bytes_of[name] for name in family)
        found.append(total)
    return min(found, default=0)


def _work_of(instance: Instance, name: str) -> float:
    """The work of the tasks of a component, in ranks that it fills."""
    return math.fsum(each.work for each in instance.tasks if name in each.needs) / instance.capacity


def _families(instance: Instance) -> Iterator[list[str]]:
    """Sets of components of which every task needs exactly one; no component is in two of them."""
    users = {
        name: frozenset(number for number, each in enumerate(instance.tasks) if name in each.needs)
        for name in instance.bytes_of
    }
    groups: dict[str, list[list[str]]] = {}
    for name in sorted(users, key=lambda each: (-len(users[each]), each)):
        if len(users[name]) == len(instance.tasks):
            continue
        alike = groups.setdefault(name.partition(".")[0], [])
        fitting = (each for each in alike if all(users[name].isdisjoint(users[other]) for other in each))
        family = next(fitting, None)
        if family is None:
            alike.append([name])
        else:
            family.append(name)
    for family in (family for alike in groups.values() for family in alike):
        if sum(len(users[name]) for name in family) == len(instance.tasks):
            yield family


def _least_held(works: Sequence[float], ranks: int, *, whole: float) -> int:
    """How many components of a family so many ranks hold together at least, a rank counting each that it holds. The
    work of each component, and of all, is in ranks that it fills."""
    alone = sorted(
        (part for each in works for part in [*[1.0] * int(each), each % 1.0] if part > EVEN), reverse=True
    )
    filled, count = 0.0, 0
    for part in alone[:ranks]:
        if filled + part + (ranks - count - 1) < whole - EVEN * ranks:
            break
        filled, count = filled + part, count + 1
    return 2 * ranks - count


def data_parallel(instance: Instance) -> Placement:
    """Every task on every rank: the placement that needs no plan."""
    share = {number: direction.work / instance.ranks for number, direction in enumerate(instance.tasks)}
    return Placement(instance, (share,) * instance.ranks)


def _sent(size: int, holders: int) -> int:
    return 2 * max(0, holders - 1) * size
