"""A server that is started on an address and answers until a signal comes."""

import signal
import socket
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

from trimtab.arguments import whole_number
from trimtab.errors import InputError, Interrupted, StartAgain, Terminated, input_error
from trimtab.serving.server import RunningServer, Served

LOCALHOST, PORT = "127.0.0.1", 8080
BACKLOG = 512
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1)


def serve_until_signal(
    server: RunningServer[Served], ready: Callable[[RunningServer[Served]], None] | None = None
) -> None:
    """Calls `ready` with a server that answers, waits for a signal, stops the server, and raises Interrupted after
    Ctrl-C and Terminated after another signal; a second signal ends the process at once."""
    stop = threading.Event()
    came: list[int] = []
    before: dict[signal.Signals, Any] = {}

    def ask(number: int, frame: FrameType | None) -> None:
        came.append(number)
        for each in before:
            signal.signal(each, signal.SIG_DFL)  # a second one ends the process, whatever the model is doing
        stop.set()

    before |= {number: signal.getsignal(number) for number in _taken_signals()}
    try:
        for number in before:
            signal.signal(number, ask)
        if ready is not None:
            ready(server)
        stop.wait()
        server.stop()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    raise _ended(came[0], num_cut_off=server.num_cut_off)


def listening_socket(host: str, port: int) -> socket.socket:
    """A socket that is bound to the address. Raises InputError where it cannot be."""
    whole_number(port, name="port", least=0, most=65_535, fix="8080 is usual; 0 takes a free one")
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind)
    except OSError as error:
        raise input_error(
            f"--host {host!r}: no address of this machine",
            got=error.strerror or str(error),
            allowed="127.0.0.1 for this machine alone, 0.0.0.0 for others too, or a name or address that it has",
            fix="leave --host out",
        ) from None
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        raise _no_address(host, port, error) from None
    return listening


def url_of(listening: socket.socket) -> str:
    """`http://127.0.0.1:8080`."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _no_address(host: str, port: int, error: OSError) -> InputError:
    return input_error(
        f"{host}:{port}: the server cannot listen there",
        got=error.strerror or str(error),
        allowed="an address of this machine and a free port",
        fix="take a free port with --port 0, or stop what uses this one",
    )


def _taken_signals() -> list[signal.Signals]:
    """Signals that stop the server; none where another thread owns the process, and not those that are ignored."""
    if threading.current_thread() is not threading.main_thread():
        return []
    return [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]


def _ended(number: int, *, num_cut_off: int) -> Terminated:
    how = f"{num_cut_off} running requests were cut off" if num_cut_off else "running requests were finished"
    if number == signal.SIGINT:
        return Interrupted(f"by Ctrl-C; {how}")
    if number == signal.SIGUSR1:
        return StartAgain(f"by SIGUSR1; {how}")
    return Terminated(f"by {signal.Signals(number).name}; {how}")
