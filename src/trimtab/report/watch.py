"""The live page of one run, served to this machine alone: two paths, read only, that end with the process."""

import asyncio
import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from trimtab.report.page import page_html, report_of, sections_of
from trimtab.report.run_data import RunData, open_run
from trimtab.serving.connection import Answer, Request
from trimtab.serving.counters import Counters
from trimtab.serving.limits import ServeLimits
from trimtab.serving.origin import check_host, check_origin
from trimtab.serving.refused import json_bytes, refused
from trimtab.serving.server import RunningServer
from trimtab.serving.until_signal import LOCALHOST, listening_socket, serve_until_signal, url_of

PORT = 8090
PATHS = ("/", "/live")
METHODS = ("GET", "HEAD")
LIMITS = ServeLimits(max_body=1, max_connections=64, stop_timeout_s=1.0)
SPACING_S = 0.1
"""The folder is not looked at more often than this, however many pages ask."""
SHARE_OF_TIME = 0.2
"""At most so much of the time is spent on writing the page again, so that training keeps its cores."""


@dataclass(slots=True)
class LivePage:
    """A run and its newest page; one reader at a time brings both up to date."""

    run: RunData
    clock: Callable[[], float] = time.monotonic
    body: bytes = b""
    tag: str = ""
    _next_look: float = 0.0
    _next_making: float = 0.0
    _is_stale: bool = True
    _looking: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def newest(self) -> tuple[bytes, str]:
        """The newest content for the page, as JSON, and a tag that changes with it."""
        async with self._looking:
            if self.clock() >= self._next_look:
                await asyncio.to_thread(self._look)
            return self.body, self.tag

    async def html(self) -> bytes:
        """The page itself, as the run is now."""
        async with self._looking:
            return await asyncio.to_thread(self._html)

    def _html(self) -> bytes:
        self._look()
        return page_html(report_of([self.run]), live=True).encode("utf-8", "backslashreplace")

    def _look(self) -> None:
        self._is_stale |= self.run.refresh()
        self._next_look = self.clock() + SPACING_S
        if not self._is_stale or (self.body and self.clock() < self._next_making):
            return
        begun = self.clock()
        report = report_of([self.run])
        newest = self.run.steps.num_rows
        content = {
            "curves": {**report.curves.to_dict(), "live": True},
            "sections": sections_of(report),
            "newest": newest,
        }
        self.body = json_bytes(content)
        self.tag = f'"{hashlib.sha256(self.body).hexdigest()[:32]}"'
        self._is_stale = False
        self._next_making = self.clock() + (self.clock() - begun) * (1 / SHARE_OF_TIME - 1)


@dataclass
class WatchService:
    """Answers with the page of one run, and with nothing else."""

    page: LivePage
    counters: Counters = field(default_factory=Counters)
    is_stopping: bool = False
    limits: ServeLimits = LIMITS

    async def answer(self, request: Request) -> Answer:
        """The page, or what is new. Raises Refused for another path, method, host or site."""
        check_host(request.headers, names=())
        if request.path != "/":  # a link to the page may be anywhere
            check_origin(request.headers)
        if request.path not in PATHS:
            raise refused(
                404, "no such path", got=request.path, allowed=" and ".join(PATHS), fix="open the page at /"
            )
        if request.method not in METHODS:
            raise refused(
                405,
                f"{request.path}: a run is watched, never changed",
                got=request.method,
                allowed=" or ".join(METHODS),
                fix="use GET",
                headers={"allow": ", ".join(METHODS)},
            )
        if request.path == "/":
            return Answer(body=await self.page.html(), content_type="text/html; charset=utf-8")
        body, tag = await self.page.newest()
        if request.headers.get("if-none-match") == tag:
            return Answer(status=304, body=b"", headers={"etag": tag})
        return Answer(body=body, headers={"etag": tag})

    def begin(self, loop: asyncio.AbstractEventLoop) -> None:
        """Nothing to start."""

    def end(self) -> None:
        """Nothing to stop."""


def start_watching(run: Path, *, port: int = PORT) -> RunningServer[WatchService]:
    """Serves the page of a run at 127.0.0.1, in a thread of its own, until `stop`; port 0 takes a free one.

    The run may be training, and may be deleted meanwhile: the page then says so and keeps what it has. Raises
    InputError where there is no run, or the port is taken.
    """
    service = WatchService(LivePage(open_run(run)))
    listening = listening_socket(LOCALHOST, port)
    return RunningServer(service, listening, url_of(listening)).start()


def watch(
    run: Path, *, port: int = PORT, ready: Callable[[RunningServer[WatchService]], None] | None = None
) -> None:
    """The same until a signal comes; raises Interrupted after Ctrl-C and Terminated after another signal."""
    serve_until_signal(start_watching(run, port=port), ready)
