"""`trimtab.serve`: opens a model and answers requests until it is stopped."""

import socket
from collections.abc import Callable, Sequence
from pathlib import Path

from trimtab.serving.batcher import Batcher
from trimtab.serving.counters import Counters
from trimtab.serving.health import About
from trimtab.serving.limits import ServeLimits
from trimtab.serving.models import Served, ServeOptions, open_served
from trimtab.serving.origin import host_names
from trimtab.serving.routes import Service
from trimtab.serving.server import RunningServer
from trimtab.serving.until_signal import LOCALHOST, PORT, listening_socket, serve_until_signal, url_of


def serve(
    run: str,
    *,
    host: str = LOCALHOST,
    port: int = PORT,
    options: ServeOptions | None = None,
    limits: ServeLimits | None = None,
    allow_hosts: Sequence[str] = (),
    ready: Callable[[RunningServer[Service]], None] | None = None,
) -> None:
    """Answers HTTP requests with the model of `RUN`, `RUN@last`, `RUN@500` or an export, until a signal comes.

    Running requests are finished then, and new ones refused; a second signal ends it at once. `ready` is called with
    the server when it answers. Only requests whose Host is localhost, an address or one of `allow_hosts` are answered.
    Raises Interrupted after Ctrl-C and Terminated after another signal, and InputError for a model or an address that
    cannot be used.
    """
    server = start_server(run, host=host, port=port, options=options, limits=limits, allow_hosts=allow_hosts)
    serve_until_signal(server, ready)


def start_server(
    run: str,
    *,
    host: str = LOCALHOST,
    port: int = PORT,
    options: ServeOptions | None = None,
    limits: ServeLimits | None = None,
    allow_hosts: Sequence[str] = (),
) -> RunningServer[Service]:
    """The same in threads of their own: gives the running server, whose `url` says where it is and whose `stop` ends
    it; in a `with` statement it stops at the end of the block. Port 0 takes a free one."""
    options, limits = options or ServeOptions(), limits or ServeLimits()
    host_names(allow_hosts)  # before the model is read
    listening = listening_socket(host, port)
    try:
        model = open_served(run, options)
    except BaseException:
        listening.close()
        raise
    return started(
        model, listening, name=Path(run).name, options=options, limits=limits, allow_hosts=allow_hosts
    )


def started(
    model: Served,
    listening: socket.socket,
    *,
    name: str,
    options: ServeOptions,
    limits: ServeLimits,
    allow_hosts: Sequence[str] = (),
) -> RunningServer[Service]:
    """A server for a model that is open already."""
    counters = Counters()
    batcher = Batcher(model, counters, max_queue=limits.max_queue, window_s=options.window_ms / 1000)
    service = Service(model, About(name, limits), batcher, counters, host_names(allow_hosts))
    return RunningServer(service, listening, url_of(listening)).start()
