"""One connection of a client: requests in, answers out, with a time limit for everything that a client does.

h11 decides what is HTTP and what is not; nothing of a request is looked at before it has accepted it.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus

import h11

from trimtab.serving.limits import ServeLimits
from trimtab.serving.refused import Refused, json_bytes, refused

HEAD_BYTES = 16_384
"""Of a request's first line and headers; a head that ends within one read more is taken too."""
READ_BYTES = 16_384
LINGER_S, LINGER_BYTES = 1.0, 4_000_000
"""How much is still read from a client that was refused in the middle of its body. A connection that is closed with
unread data is reset, and the client would not see the answer."""
JSON = "application/json; charset=utf-8"
_ALWAYS = (
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cache-control", "no-store"),
    ("x-frame-options", "DENY"),
)


@dataclass(frozen=True, slots=True)
class Request:
    """A whole request."""

    method: str
    path: str
    """Without what follows a question mark."""
    headers: dict[str, str]
    """By lower-case name; of a name that comes twice the last."""
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A whole answer."""

    status: int = 200
    body: bytes
    content_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Events:
    """An answer of server-sent events, each sent when it is there."""

    texts: AsyncIterator[bytes]
    """What follows `data: `."""
    abandon: Callable[[], None]
    """Cancels the work for them after the client is gone; harmless at their end."""


class Disconnected(Exception):
    """The client has gone, or takes nothing any more."""


class Connection:
    """HTTP/1.1 over a pair of streams."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, limits: ServeLimits
    ) -> None:
        self.reader, self.writer, self.limits = reader, writer, limits
        self.http = h11.Connection(h11.SERVER, max_incomplete_event_size=HEAD_BYTES)
        self.is_idle = True
        """Whether it waits for the first byte of a request."""
        self.must_close = False
        self._is_head = False

    async def receive(self) -> Request | None:
        """The next whole request; None where the client has gone or sent none in time.

        Raises Refused for what is no HTTP, too large, or too slow; the connection can only answer and close then.
        """
        if not self.http.trailing_data[0] and not await self._woken():
            return None
        self.is_idle = False
        try:
            async with asyncio.timeout(self.limits.receive_timeout_s):
                return await self._request()
        except TimeoutError:
            raise refused(
                408,
                "the request came too slowly",
                got=f"no whole request within {self.limits.receive_timeout_s:g} s",
                allowed=f"a whole request within {self.limits.receive_timeout_s:g} s",
                fix="send head and body at once",
            ) from None
        except h11.RemoteProtocolError as error:
            hint = error.error_status_hint
            raise refused(
                hint if hint in (400, 431, 501) else 400,
                "the request is no valid HTTP/1.1",
                got=str(error)[:200],
                allowed=f"HTTP/1.1 with one Host, one right Content-Length, and a head of {HEAD_BYTES:,} bytes",
                fix="use an HTTP library",
            ) from None

    async def send(self, answer: Answer) -> None:
        """Sends a whole answer. Raises Disconnected if the client is gone."""
        headers = [
            ("content-type", answer.content_type),
            ("content-length", str(len(answer.body))),
            *answer.headers.items(),
        ]
        await self._head(answer.status, headers)
        if not self._is_head:
            await self._write(h11.Data(data=answer.body))
        await self._write(h11.EndOfMessage())

    async def refuse(self, error: Refused) -> None:
        """Sends an error."""
        await self.send(Answer(status=error.status, body=json_bytes(error.to_dict()), headers=error.headers))

    async def begin_events(self) -> None:
        """Sends the head of an answer of server-sent events."""
        await self._head(
            200, [("content-type", "text/event-stream; charset=utf-8"), ("x-accel-buffering", "no")]
        )

    async def send_event(self, data: bytes) -> None:
        """Sends one event. Raises Disconnected if the client is gone."""
        await self._write(h11.Data(data=b"data: " + data + b"\n\n"))

    async def end_events(self) -> None:
        """Ends an answer of events."""
        await self._write(h11.EndOfMessage())

    @property
    def has_left(self) -> bool:
        """Whether the client has closed its side, and so waits for nothing."""
        return self.reader.at_eof() or self.writer.is_closing()

    @property
    def can_answer(self) -> bool:
        """Whether no answer was begun yet."""
        return self.http.our_state in (h11.IDLE, h11.SEND_RESPONSE)

    def next_request(self) -> bool:
        """Makes ready for another request; false where the connection ends here."""
        done = self.http.our_state is h11.DONE and self.http.their_state is h11.DONE
        if not done or self.must_close or self.has_left:
            return False
        self.http.start_next_cycle()
        self.is_idle = True
        return True

    async def close(self) -> None:
        """Ends the connection, after what the client may still be sending."""
        if self.http.their_state not in (h11.DONE, h11.MUST_CLOSE, h11.CLOSED) and not self.has_left:
            with suppress(OSError, TimeoutError, RuntimeError):
                self.writer.write_eof()
                async with asyncio.timeout(LINGER_S):
                    await self._drop()
        self.writer.close()
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(LINGER_S):
                await self.writer.wait_closed()
        self.writer.transport.abort()  # what is not taken by now never will be

    async def _drop(self) -> None:
        left = LINGER_BYTES
        while left > 0 and (data := await self.reader.read(READ_BYTES)):
            left -= len(data)

    async def _woken(self) -> bool:
        """Waits for the first bytes of a request."""
        try:
            async with asyncio.timeout(self.limits.idle_timeout_s):
                data = await self.reader.read(READ_BYTES)
        except (TimeoutError, OSError):
            return False
        if data:
            self.http.receive_data(data)
        return bool(data)

    async def _request(self) -> Request | None:
        head = await self._event()
        if not isinstance(head, h11.Request):
            return None
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in head.headers}
        self._is_head = head.method == b"HEAD"
        self._check_size(int(headers.get("content-length", "0")))
        if self.http.they_are_waiting_for_100_continue:
            await self._write(h11.InformationalResponse(status_code=100, headers=[]))
        body = bytearray()
        while isinstance(event := await self._event(), h11.Data):
            body += event.data
            self._check_size(len(body))
        if not isinstance(event, h11.EndOfMessage):
            return None
        path = head.target.decode("latin-1").partition("?")[0]
        return Request(head.method.decode("latin-1"), path, headers, bytes(body))

    async def _event(self) -> h11.Event:
        while True:
            event = self.http.next_event()
            if event is h11.NEED_DATA:
                try:
                    self.http.receive_data(await self.reader.read(READ_BYTES))
                except OSError as error:
                    raise Disconnected from error
            elif isinstance(event, h11.Event):
                return event
            else:  # paused: a request before this one has no answer yet, which cannot be here
                raise Disconnected

    def _check_size(self, size: int) -> None:
        if size > self.limits.max_body:
            raise refused(
                413,
                "the body is too large",
                got=f"{size:,} bytes or more",
                allowed=f"at most {self.limits.max_body:,} bytes",
                fix="divide the lines among several requests, or start the server with a larger --max-body",
            )

    async def _head(self, status: int, headers: list[tuple[str, str]]) -> None:
        if self.must_close or self.http.their_state is not h11.DONE:
            headers = [*headers, ("connection", "close")]
        await self._write(
            h11.Response(status_code=status, headers=[*headers, *_ALWAYS], reason=HTTPStatus(status).phrase)
        )

    async def _write(self, event: h11.Event) -> None:
        try:
            if data := self.http.send(event):
                self.writer.write(data)
            async with asyncio.timeout(self.limits.receive_timeout_s):
                await self.writer.drain()
        except (OSError, TimeoutError, h11.LocalProtocolError) as error:
            self.must_close = True
            self.writer.transport.abort()
            raise Disconnected from error
