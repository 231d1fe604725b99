import os
import signal
import socket

import pytest

from tests.for_each import for_each
from trimtab.errors import InputError, Terminated
from trimtab.serving.server import RunningServer
from trimtab.serving.until_signal import listening_socket, serve_until_signal, url_of


class Stoppable(RunningServer):
    num_cut_off = 2

    def __init__(self):
        self.stops = 0

    def stop(self):
        self.stops += 1


def test_a_signal_stops_the_server_and_says_what_was_cut_off():
    server, before = Stoppable(), signal.getsignal(signal.SIGTERM)
    with pytest.raises(Terminated, match="2 running requests were cut off"):
        serve_until_signal(server, lambda each: os.kill(os.getpid(), signal.SIGTERM))
    assert server.stops == 1
    assert signal.getsignal(signal.SIGTERM) is before


def test_an_address_of_version_six_stands_in_brackets():
    with listening_socket("127.0.0.1", 0) as four:
        assert url_of(four) == f"http://127.0.0.1:{four.getsockname()[1]}"
    try:
        six = listening_socket("::1", 0)
    except InputError:
        pytest.skip("this machine has no IPv6")
    with six:
        assert url_of(six).startswith("http://[::1]:")


def test_a_port_of_another_server_is_refused():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(InputError, match="cannot listen"):
            listening_socket("127.0.0.1", taken.getsockname()[1])


@for_each("host", ["", "nohost.invalid", "256.1.1.1", "a b"])
def test_a_host_that_is_no_address_is_named_and_not_its_port(host):
    with pytest.raises(InputError, match="--host") as caught:
        listening_socket(host, 0)
    assert "--port" not in caught.value.problems[0].fix
