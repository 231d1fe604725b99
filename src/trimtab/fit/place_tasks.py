"""The search for a placement of tasks: a line of tasks cut into ranks, and components taken away from ranks."""

import random
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import fsum

from trimtab.fit.placement import EVEN, Instance, Placement

MOST_CHAINS, MOST_LINES, MOST_CUTS = 8, 2, 3
"""Chains of neighbours, the best lines that are changed, and the best cuts of these that are improved."""
CHANGES = 200
"""Changes of a line that are tried, one after another."""
MOST_LOOKS = 20_000_000
"""Ranks that may be looked at while a cut is improved, seconds of work; for a thousand ranks it would be hours."""

Line = tuple[int, ...]


def place_tasks(instance: Instance) -> Placement:
    """The placement with the least communication that was found, with no rank above the capacity.

    Tasks that share many bytes stand beside one another in a line, which is cut into ranks. The line is changed at
    random, and a change is kept if its cut is not worse. Then each component is taken from each rank, the largest
    first, wherever its tasks find room on other ranks that already hold all they need, possibly by moving further
    tasks: a search for augmenting paths. The same instance gives the same placement.
    """
    cutter = _Cutter(instance)
    lines = sorted(dict.fromkeys(_lines(instance)), key=cutter.cost)[:MOST_LINES]
    draw = random.Random(0)
    cuts = [cut for line in lines for cut in cutter.cuts(_changed(line, cutter, draw))]
    best: Placement | None = None
    for cut in sorted(cuts, key=cutter.held)[:MOST_CUTS]:
        search = _Search(instance, cut)
        search.improve()
        found = search.placement()
        if best is None or found.communicated < best.communicated:
            best = found
    assert best is not None, "there is at least one line"
    return best


def _changed(line: Line, cutter: "_Cutter", draw: random.Random) -> Line:
    """A line of lower cost, by moving or turning stretches of it."""
    cost = cutter.cost(line)
    for _ in range(CHANGES if len(line) > 1 else 0):
        first, last = sorted((draw.randrange(len(line)), draw.randrange(len(line))))
        last = min(last, first + draw.choice((0, 0, 1, 2, 5, 20)))
        stretch, rest = line[first : last + 1], line[:first] + line[last + 1 :]
        place = draw.randrange(len(rest) + 1)
        turned = stretch[::-1] if draw.random() < 0.3 else stretch
        other = rest[:place] + turned + rest[place:]
        if (other_cost := cutter.cost(other)) <= cost:
            line, cost = other, other_cost
    return line


def _lines(instance: Instance) -> Iterator[Line]:
    """Tasks sorted by components, the largest or the smallest first, and chains of neighbours."""
    numbers = range(len(instance.tasks))
    size = instance.bytes_of
    for sign in (-1, 1):
        by_size = sorted(size, key=lambda name: (sign * size[name], name))
        yield tuple(
            sorted(numbers, key=lambda each: [name not in instance.tasks[each].needs for name in by_size])
        )
    for start in sorted(numbers, key=lambda each: -instance.tasks[each].work)[:MOST_CHAINS]:
        yield _chain(instance, start)


def _chain(instance: Instance, start: int) -> Line:
    """From each task to the one that shares the most bytes with it."""
    left, line = set(range(len(instance.tasks))) - {start}, [start]
    while left:
        here = instance.tasks[line[-1]].needs
        shared = {
            each: sum(instance.bytes_of[name] for name in here & instance.tasks[each].needs) for each in left
        }
        line.append(max(left, key=lambda each: (shared[each], -each)))
        left.remove(line[-1])
    return tuple(line)


class _Cutter:
    """Cuts lines into ranks, and knows what the ranks of a cut hold."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        bits = {name: 1 << number for number, name in enumerate(instance.bytes_of)}
        self.masks = [sum(bits[name] for name in direction.needs) for direction in instance.tasks]
        self.sizes = {bits[name]: size for name, size in instance.bytes_of.items()}
        self.bytes_of_mask: dict[int, int] = {0: 0}
        self.least = EVEN * instance.work

    def cost(self, line: Line) -> int:
        """Bytes that the ranks of the best cut hold, which is what they communicate but for a constant."""
        return min(map(self.held, self.cuts(line)))

    def held(self, cut: list[dict[int, float]]) -> int:
        """Bytes that the ranks of a cut hold together."""
        return sum(self._bytes(self._mask(rank)) for rank in cut)

    def cuts(self, line: Line) -> list[list[dict[int, float]]]:
        """The line cut evenly, cut into as full ranks as may be, and cut between tasks where there is room for it."""
        instance = self.instance
        mean = instance.work / instance.ranks
        return [
            self._cut(line, mean),
            self._cut(line, instance.capacity),
            self._cut(line, instance.capacity, snaps=True),
        ]

    def _cut(self, line: Line, limit: float, *, snaps: bool = False) -> list[dict[int, float]]:
        ranks = list[dict[int, float]]([{} for _ in range(self.instance.ranks)])
        rank, room, held, ahead = 0, limit, 0, self.instance.work
        last = len(ranks) - 1
        for direction in line:
            left, mask = self.instance.tasks[direction].work, self.masks[direction]
            if snaps and held and mask & ~held and rank < last and ahead <= (last - rank) * limit:
                rank, room, held = rank + 1, limit, 0
            while left > self.least:
                if room <= self.least and rank < last:
                    rank, room, held = rank + 1, limit, 0
                part = left if rank == last else min(left, room)
                ranks[rank][direction] = part
                held |= mask
                left, room, ahead = left - part, room - part, ahead - part
        return ranks

    def _mask(self, rank: dict[int, float]) -> int:
        mask = 0
        for direction in rank:
            mask |= self.masks[direction]
        return mask

    def _bytes(self, mask: int) -> int:
        found = self.bytes_of_mask.get(mask)
        if found is None:
            found = sum(size for bit, size in self.sizes.items() if mask & bit)
            self.bytes_of_mask[mask] = found
        return found


class _Search:
    """Work of tasks on ranks, with the components that each rank may use; every change keeps within the capacity."""

    def __init__(self, instance: Instance, work: list[dict[int, float]]) -> None:
        self.instance = instance
        self.work = work
        self.loads = [fsum(rank.values()) for rank in work]
        self.held = [set(instance.needed(list(rank))) for rank in work]
        self.open = [
            {rank for rank, held in enumerate(self.held) if direction.needs <= held}
            for direction in instance.tasks
        ]
        """The ranks that hold all that a task needs."""
        self.least = EVEN * instance.work
        self.before: dict[int, dict[int, float]] = {}
        """The work of the ranks that the change that is tried has touched, as it was."""
        self.looks = 0

    def placement(self) -> Placement:
        """The work as it is."""
        return Placement(self.instance, tuple(dict(sorted(rank.items())) for rank in self.work))

    def improve(self) -> None:
        """Takes components away until none can be, or until it has looked at `MOST_LOOKS` ranks."""
        changed = True
        while changed:
            changed = False
            pairs = [(rank, name) for rank, held in enumerate(self.held) for name in held]
            for rank, name in sorted(pairs, key=self._gain):
                if self.looks > MOST_LOOKS:
                    return
                if name in self.held[rank] and self._take(rank, name):
                    changed = True

    def _gain(self, pair: tuple[int, str]) -> tuple[int, float, int, str]:
        """The largest component first, and of equal ones that with the least work on its rank."""
        rank, name = pair
        used = fsum(
            part
            for direction, part in self.work[rank].items()
            if name in self.instance.tasks[direction].needs
        )
        return (-self.instance.bytes_of[name], used, rank, name)

    def _take(self, rank: int, name: str) -> bool:
        """Whether the tasks of a component on a rank found other ranks; if not, nothing changes."""
        self.before = {}
        closed = [
            number
            for number in range(len(self.open))
            if rank in self.open[number] and name in self._needs(number)
        ]
        moved = {
            direction: part for direction, part in self.work[rank].items() if name in self._needs(direction)
        }
        if not all(self.open[direction] - {rank} for direction in moved):
            return False
        for number in closed:
            self.open[number].discard(rank)
        for direction, part in moved.items():
            self._add(rank, direction, -part)
        if all(self._put(direction, part) for direction, part in moved.items()):
            for touched in {rank, *self.before}:
                self._forget_unused(touched)
            return True
        for touched, work in self.before.items():
            self.work[touched], self.loads[touched] = work, fsum(work.values())
        for number in closed:
            self.open[number].add(rank)
        return False

    def _needs(self, direction: int) -> frozenset[str]:
        return self.instance.tasks[direction].needs

    def _forget_unused(self, rank: int) -> None:
        """A rank holds what its tasks need and nothing else."""
        self.held[rank] = held = set(self.instance.needed(list(self.work[rank])))
        for number, ranks in enumerate(self.open):
            if rank in ranks and not self._needs(number) <= held:
                ranks.discard(rank)

    def _add(self, rank: int, direction: int, part: float) -> None:
        """Adds to the work of a rank, or takes away where `part` is negative."""
        if rank not in self.before:
            self.before[rank] = dict(self.work[rank])
        left = self.work[rank].get(direction, 0.0) + part
        if left > self.least:
            self.work[rank][direction] = left
        else:
            self.work[rank].pop(direction, None)
        self.loads[rank] += part

    def _put(self, direction: int, part: float) -> bool:
        """Whether all of a part of a task found a place."""
        while part > self.least:
            path = self._path(direction)
            if path is None:
                return False
            part -= self._push(part, path)
        return True

    def _path(self, direction: int) -> list[tuple[int, int]] | None:
        """The shortest way to a rank with room: each rank with the task that comes to it, from the rank before it."""
        came: dict[int, tuple[int | None, int]] = dict.fromkeys(
            sorted(self.open[direction]), (None, direction)
        )
        waiting = deque(came)
        while waiting:
            rank = waiting.popleft()
            if self._room(rank) > self.least:
                path = list[tuple[int, int]]()
                at: int | None = rank
                while at is not None:
                    path.append((at, came[at][1]))
                    at = came[at][0]
                return path[::-1]
            for other in self.work[rank]:
                self.looks += len(self.open[other])
                for following in sorted(self.open[other] - came.keys()):
                    came[following] = (rank, other)
                    waiting.append(following)
        return None

    def _push(self, part: float, path: Sequence[tuple[int, int]]) -> float:
        """Moves as much as the whole path takes; gives how much."""
        amount = min(part, self._room(path[-1][0]))
        for (rank, _), (_, going) in pairwise(path):
            amount = min(amount, self.work[rank][going])
        for (rank, coming), following in zip(path, [*path[1:], None], strict=True):
            self._add(rank, coming, amount)
            if following is not None:
                self._add(rank, following[1], -amount)
        return amount

    def _room(self, rank: int) -> float:
        return self.instance.capacity - self.loads[rank]
