import os
import signal
import socket
import threading

import pytest

import trimtab
from tests.serving.clients import post
from trimtab.errors import InputError, Interrupted, StartAgain, Terminated
from trimtab.serving import serve as module
from trimtab.serving.serve import serve, start_server
from trimtab.serving.until_signal import listening_socket, url_of


@pytest.fixture
def opened(monkeypatch, translator):
    monkeypatch.setattr(module, "open_served", lambda run, options: translator)


@pytest.mark.quick("15-Terminated", "2-Interrupted")
@pytest.mark.parametrize(
    ("number", "kind"),
    [(signal.SIGTERM, Terminated), (signal.SIGINT, Interrupted), (signal.SIGUSR1, StartAgain)],
)
def test_a_signal_ends_it_with_what_was_asked_answered(opened, number, kind):
    replies = []

    def ready(server):
        replies.append(post(server.url, "/translate", {"lines": ["never"]}))
        threading.Timer(0.05, os.kill, (os.getpid(), number)).start()

    before = signal.getsignal(number)
    with pytest.raises(kind, match="running requests were finished") as stopped:
        serve("runs/x", port=0, ready=ready)
    assert type(stopped.value) is kind
    assert signal.getsignal(number) is before
    assert [reply.status for reply in replies] == [200]


def test_it_runs_beside_other_code(opened):
    with start_server("runs/small", port=0) as server:
        assert post(server.url, "/translate", {"lines": ["never"]}).status == 200
        assert server.service.about.name == "small"
    server.stop()  # a second time is harmless


def test_an_address_that_is_taken_or_nobodys_is_refused(opened):
    with listening_socket("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        assert url_of(taken) == f"http://127.0.0.1:{port}"
        with pytest.raises(InputError, match="cannot listen") as refused:
            start_server("runs/x", port=port)
        assert "--port 0" in str(refused.value)
    with pytest.raises(InputError, match="cannot listen"):
        start_server("runs/x", host="192.0.2.1", port=0)
    with pytest.raises(InputError, match="port"):
        start_server("runs/x", port=70_000)


def test_a_model_that_is_not_there_leaves_no_open_port(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    for _ in range(2):
        with pytest.raises(InputError, match="no such"):
            trimtab.start_server(str(tmp_path / "no such"), port=port)


def test_a_second_signal_ends_the_process_at_once(opened, monkeypatch):
    handlers = []

    def stop(server):
        handlers.append(signal.getsignal(signal.SIGTERM))

    monkeypatch.setattr(module.RunningServer, "stop", stop)
    servers = []

    def ready(server):
        servers.append(server)
        os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(Terminated):
        serve("runs/x", port=0, ready=ready)
    monkeypatch.undo()
    servers[0].stop()
    assert handlers == [signal.SIG_DFL]
