"""Dynamic batching: lines of several requests wait for a moment, and go through the model together.

One thread runs the model. A batch takes a line of each waiting request in turn, so that a long request does not keep
short ones waiting for more than a batch.
"""

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from trimtab.errors import Problem
from trimtab.serving.counters import Counters
from trimtab.serving.refused import Refused, refused


@dataclass(frozen=True, slots=True)
class Piece:
    """A line, or a text, that is to be made."""

    work: "Work"
    place: int
    """Its number in the request, from 0."""
    content: Any
    """What the model takes."""
    cost: int
    """Tokens that it adds to a batch."""


@dataclass(frozen=True, slots=True)
class Made:
    """Something that was made of a piece."""

    piece: Piece
    result: Any
    is_whole: bool
    """Whether nothing more comes of this piece."""


@runtime_checkable
class Runs(Protocol):
    """A model that makes something of pieces of several requests."""

    @property
    def budget(self) -> int:
        """Tokens of a batch."""
        ...

    def run(self, pieces: Sequence[Piece]) -> Iterator[list[Made]]:
        """What the model makes of pieces whose work has the same key, as soon as it is there."""
        ...


class Work:
    """The pieces of one request; its results come in the event loop in which it was made."""

    def __init__(self, key: Hashable, contents: Sequence[Any], costs: Sequence[int]) -> None:
        self.key = key
        """Only work of the same key shares a batch."""
        self.contents = tuple(contents)
        self.waiting = deque(
            Piece(self, place, *each) for place, each in enumerate(zip(contents, costs, strict=True))
        )
        self.is_awaited = True
        """Whether the client still waits for it."""
        self.since = time.monotonic()
        self.results: asyncio.Queue[Made | Refused] = asyncio.Queue()
        self._left = len(self.waiting)

    async def made(self) -> Made | None:
        """The next result; None after the last one. Raises Refused where the model could make nothing."""
        if not self._left:
            return None
        found = await self.results.get()
        if isinstance(found, Refused):
            raise found
        self._left -= found.is_whole
        return found


@dataclass
class Batcher:
    """The queue, and the thread that empties it."""

    model: Runs
    counters: Counters
    max_queue: int
    window_s: float
    """How long the first line of a batch waits for others."""
    loop: asyncio.AbstractEventLoop | None = None
    """Where results go."""
    _queue: deque[Work] = field(default_factory=deque[Work])
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _num_waiting: int = 0
    _cost_waiting: int = 0
    _is_stopped: bool = False
    _thread: threading.Thread | None = None

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Starts the model's thread."""
        self.loop = loop
        self._thread = threading.Thread(target=self._work, name="model", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread after the batch at hand."""
        with self._changed:
            self._is_stopped = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join()

    @property
    def num_waiting(self) -> int:
        """Lines that wait."""
        return self._num_waiting

    def submit(self, work: Work) -> None:
        """Puts work into the queue. Raises Refused where there is no room for it."""
        count = len(work.waiting)
        if not count:
            return
        with self._changed:
            if self._num_waiting + count > self.max_queue:
                raise refused(
                    429,
                    "the queue is full",
                    got=f"{count:,} lines; {self._num_waiting:,} wait already",
                    allowed=f"at most {self.max_queue:,} waiting lines",
                    fix="wait a second and try again, or start the server with a larger --max-queue",
                    headers={"retry-after": "1"},
                )
            self._queue.append(work)
            self._num_waiting += count
            self._cost_waiting += sum(piece.cost for piece in work.waiting)
            self._changed.notify()

    def withdraw(self, work: Work) -> None:
        """Takes back what of the work has not begun; what has begun is finished for nobody."""
        work.is_awaited = False
        with self._changed:
            self._num_waiting -= len(work.waiting)
            self._cost_waiting -= sum(piece.cost for piece in work.waiting)
            work.waiting.clear()
            if work in self._queue:
                self._queue.remove(work)

    def _work(self) -> None:
        while pieces := self._next_batch():
            self.counters.batch(lines=len(pieces), tokens=sum(piece.cost for piece in pieces))
            begun = time.monotonic()
            self._run(pieces)
            self.counters.computed(time.monotonic() - begun)

    def _run(self, pieces: list[Piece]) -> None:
        try:
            for made in self.model.run(pieces):
                self._deliver([(each.piece.work, each) for each in made])
        except Exception as error:  # whatever a model raises, the server and the other requests continue
            logging.getLogger("trimtab").exception("serve: a batch failed")
            failed = Refused(
                500,
                Problem(
                    what="the model failed",
                    got=type(error).__name__,
                    allowed="",
                    fix="see the server's log; try again, or try a shorter text",
                ),
            )
            works = {id(piece.work): piece.work for piece in pieces}
            self._deliver([(work, failed) for work in works.values()])

    def _deliver(self, found: Sequence[tuple[Work, Made | Refused]]) -> None:
        assert self.loop is not None
        if found:
            self.loop.call_soon_threadsafe(_hand_out, found)

    def _next_batch(self) -> list[Piece]:
        """Waits for work; nothing at the end."""
        with self._changed:
            while not self._is_stopped:
                if not self._queue:
                    self._changed.wait()
                    continue
                wait_s = self._queue[0].since + self.window_s - time.monotonic()
                if wait_s <= 0 or self._cost_waiting >= self.model.budget:
                    return self._taken()
                self._changed.wait(wait_s)
        return []

    def _taken(self) -> list[Piece]:
        """A piece of each request of the oldest one's key in turn, up to the budget; at least one."""
        key, pieces, cost = self._queue[0].key, list[Piece](), 0
        others: deque[Work] = deque()
        while self._queue:
            work = self._queue.popleft()
            if work.key != key:
                others.append(work)
                continue
            if pieces and cost + work.waiting[0].cost > self.model.budget:
                self._queue.appendleft(work)
                break
            pieces.append(work.waiting.popleft())
            cost += pieces[-1].cost
            if work.waiting:
                self._queue.append(work)
        # What has waited in vain comes first next time.
        self._queue.extendleft(reversed(others))
        self._num_waiting -= len(pieces)
        self._cost_waiting -= cost
        return pieces


def _hand_out(found: Sequence[tuple[Work, Made | Refused]]) -> None:
    """In the event loop."""
    for work, each in found:
        if work.is_awaited:
            work.results.put_nowait(each)
