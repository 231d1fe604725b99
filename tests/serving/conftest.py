from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from trimtab.serving.limits import ServeLimits
from trimtab.serving.models import Served, ServedGenerator, ServedTranslator, ServeOptions, open_served
from trimtab.serving.serve import listening_socket, started
from trimtab.serving.server import RunningServer


@pytest.fixture(scope="session")
def translator(trained_run: Path) -> ServedTranslator:
    """The small run as a server uses it."""
    return open_served(str(trained_run), ServeOptions())


@pytest.fixture(scope="session")
def writer(text_run: Path) -> ServedGenerator:
    """The small language model as a server uses it."""
    return open_served(str(text_run), ServeOptions())


@pytest.fixture
def serving() -> Iterator[Callable[..., RunningServer]]:
    """Starts a server of a model with some limits, `serving(model, max_lines=3)`, and stops it after the test."""
    running: list[RunningServer] = []

    def start(model: Served, *, window_ms: float = 5.0, allow_hosts: tuple[str, ...] = (), **limits: Any):
        server = started(
            model,
            listening_socket("127.0.0.1", 0),
            name="small",
            options=ServeOptions(window_ms=window_ms),
            limits=ServeLimits(**{"stop_timeout_s": 5.0, **limits}),
            allow_hosts=allow_hosts,
        )
        running.append(server)
        return server

    yield start
    for server in running:
        server.stop()


@pytest.fixture(scope="session")
def translates(translator: ServedTranslator) -> Iterator[str]:
    """The URL of a server of the small run, for tests that leave it as it is."""
    yield from _running(translator)


@pytest.fixture(scope="session")
def writes(writer: ServedGenerator) -> Iterator[str]:
    """The URL of a server of the small language model, for tests that leave it as it is."""
    yield from _running(writer)


def _running(model: Served) -> Iterator[str]:
    listening = listening_socket("127.0.0.1", 0)
    options, limits = ServeOptions(), ServeLimits(max_body=20_000, max_lines=50, max_characters=500)
    with started(model, listening, name="small", options=options, limits=limits) as server:
        yield server.url
