"""The server itself: an event loop in a thread, its connections, and how it stops."""

import asyncio
import logging
import socket
import threading
import time
from collections.abc import Awaitable
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Generic, Protocol, TypeVar, runtime_checkable

from trimtab.errors import InputError, Problem
from trimtab.serving.connection import Answer, Connection, Disconnected, Events, Request
from trimtab.serving.counters import Counters
from trimtab.serving.limits import ServeLimits
from trimtab.serving.refused import Refused, json_bytes, refused

LOOK_S = 0.2
"""How often a running request looks whether its client is still there."""
BACKLOG = 512
Value = TypeVar("Value")


@runtime_checkable
class Service(Protocol):
    """What answers requests; of a model, or of a run that is watched."""

    counters: Counters
    is_stopping: bool
    """Set by the server before it waits for the last answers."""

    @property
    def limits(self) -> ServeLimits:
        """What a client may ask for, and how long it may take."""
        ...

    async def answer(self, request: Request) -> Answer | Events:
        """The answer to a request. Raises Refused, and InputError for what cannot be done."""
        ...

    def begin(self, loop: asyncio.AbstractEventLoop) -> None:
        """Called in the event loop before the first request."""
        ...

    def end(self) -> None:
        """Called in a thread after the last answer."""
        ...


Served = TypeVar("Served", bound=Service)


@dataclass
class RunningServer(Generic[Served]):
    """A server that answers; in a `with` statement it stops at the end of the block."""

    service: Served
    listening: socket.socket
    url: str
    """Where it answers, such as `http://127.0.0.1:8080`."""
    num_cut_off: int = 0
    """Requests that were still running when the time to stop was over."""
    _loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.new_event_loop)
    _connections: set[Connection] = field(default_factory=set[Connection])
    _tasks: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])
    _wake: asyncio.Event = field(default_factory=asyncio.Event)
    _thread: threading.Thread | None = None

    def start(self) -> "RunningServer[Served]":
        """Starts to answer."""
        ready = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(ready,), name="server", daemon=True)
        self._thread.start()
        ready.wait()
        return self

    def stop(self) -> None:
        """Refuses new requests, lets running ones finish, up to `stop_timeout_s`, and ends."""
        with suppress(RuntimeError):  # it has stopped before
            self._loop.call_soon_threadsafe(self._wake.set)
        if self._thread is not None:
            self._thread.join()

    def __enter__(self) -> "RunningServer[Served]":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _run(self, ready: threading.Event) -> None:
        try:
            self._loop.run_until_complete(self._serve(ready))
        finally:
            self._loop.run_until_complete(self._loop.shutdown_default_executor())
            self._loop.close()

    async def _serve(self, ready: threading.Event) -> None:
        self.service.begin(self._loop)
        server = await asyncio.start_server(self._accepted, sock=self.listening, backlog=BACKLOG)
        ready.set()
        await self._wake.wait()
        self.service.is_stopping = True
        server.close()
        await self._finish()
        await asyncio.to_thread(self.service.end)

    async def _finish(self) -> None:
        """Closes idle connections, waits for running requests, and cuts off what takes too long."""
        end = time.monotonic() + self.service.limits.stop_timeout_s
        while self._tasks and time.monotonic() < end:
            for connection in list(self._connections):
                connection.must_close = True
                if connection.is_idle:
                    connection.writer.transport.abort()
            await asyncio.wait(self._tasks, timeout=0.05)
        self.num_cut_off = len(self._tasks)
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=1)

    async def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        limits = self.service.limits
        connection = Connection(reader, writer, limits)
        task = asyncio.current_task()
        assert task is not None
        is_full = len(self._connections) >= limits.max_connections
        self._connections.add(connection)
        self._tasks.add(task)
        try:
            if is_full:
                await self._refuse_connection(connection)
            else:
                await self._converse(connection)
        except Disconnected:
            pass
        except Exception:
            logging.getLogger("trimtab").exception("serve: a connection failed")
        finally:
            self._connections.discard(connection)
            with suppress(Exception):
                await connection.close()
            self._tasks.discard(task)

    async def _refuse_connection(self, connection: Connection) -> None:
        connection.must_close = True
        most = self.service.limits.max_connections
        error = refused(
            503,
            "too many connections",
            got=f"more than {most:,}",
            allowed=f"at most {most:,}",
            fix="use one connection for several requests, or try again",
            headers={"retry-after": "1"},
        )
        self.service.counters.answers[503] += 1
        await connection.refuse(error)

    async def _converse(self, connection: Connection) -> None:
        """One request after another."""
        counters = self.service.counters
        while True:
            try:
                request = await connection.receive()
            except Refused as error:
                connection.must_close = True
                counters.requests += 1
                counters.answered(error.status, seconds=0.0)
                if connection.can_answer:
                    await connection.refuse(error)
                return
            if request is None:
                return
            if self.service.is_stopping:
                connection.must_close = True
            counters.requests += 1
            counters.running += 1
            try:
                await self._answer(request, connection)
            except Disconnected:
                counters.disconnected += 1
                raise
            finally:
                counters.running -= 1
            if not connection.next_request():
                return

    async def _answer(self, request: Request, connection: Connection) -> None:
        begun = time.monotonic()
        deadline = begun + self.service.limits.timeout_s
        status = 200
        try:
            answer = await self._watched(self.service.answer(request), connection, deadline)
            if isinstance(answer, Answer):
                await connection.send(answer)
            else:
                status = await self._send_events(answer, connection, deadline)
        except Refused as error:
            status = error.status
            await connection.refuse(error)
        self.service.counters.answered(status, seconds=time.monotonic() - begun)

    async def _send_events(self, events: Events, connection: Connection, deadline: float) -> int:
        """Sends each event when it is there; an error in the middle is the last one. Gives the status."""
        try:
            await connection.begin_events()
            while True:
                try:
                    data = await self._watched(anext(events.texts), connection, deadline)
                except StopAsyncIteration:
                    break
                except Refused as error:
                    await connection.send_event(json_bytes(error.to_dict()))
                    await connection.end_events()
                    return error.status
                await connection.send_event(data)
            await connection.end_events()
            return 200
        finally:
            events.abandon()

    async def _watched(self, work: Awaitable[Value], connection: Connection, deadline: float) -> Value:
        """The result of work for a client, given up where the client leaves or the time is over. What goes wrong in it
        becomes Refused."""
        task = asyncio.ensure_future(work)
        try:
            while not task.done():
                left = deadline - time.monotonic()
                if left <= 0:
                    raise self._too_late()
                await asyncio.wait((task,), timeout=min(LOOK_S, left))
                if connection.has_left and not task.done():
                    raise Disconnected
            return task.result()
        except InputError as error:
            raise Refused(400, *error.problems) from None
        except (Refused, Disconnected, StopAsyncIteration):
            raise
        except Exception as error:
            logging.getLogger("trimtab").exception("serve: a request failed")
            raise Refused(500, _bug(error)) from error
        finally:
            if not task.done():
                task.cancel()
                with suppress(asyncio.CancelledError, Exception):
                    await task

    def _too_late(self) -> Refused:
        seconds = self.service.limits.timeout_s
        return refused(
            504,
            "the answer took too long",
            got=f"no whole answer after {seconds:g} s",
            allowed=f"{seconds:g} s for a request",
            fix="send fewer lines at once, or start the server with a longer --timeout",
        )


def _bug(error: Exception) -> Problem:
    return Problem(
        what="the server failed",
        got=type(error).__name__,
        allowed="",
        fix="see the server's log, and report it",
    )
