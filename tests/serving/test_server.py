import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.serving.clients import connected, get, head, post, read_all
from trimtab.inference import load_translator
from trimtab.serving.batcher import Made
from trimtab.serving.models import ServedTranslator

LINE = {"lines": ["never"]}


class Held(ServedTranslator):
    """Translates nothing before it is let go; gives lines in capitals."""

    __slots__ = ("begun", "go")

    def run(self, pieces):
        self.begun.set()
        assert self.go.wait(20)
        for piece in pieces:
            if piece.content == "fail":
                raise ZeroDivisionError
            yield [Made(piece, piece.content.upper(), True)]


@pytest.fixture
def held(translator):
    model = Held(translator.translator, translator.recipe)
    for name in ("begun", "go"):
        object.__setattr__(model, name, threading.Event())
    yield model
    model.go.set()


@pytest.fixture
def pool():
    with ThreadPoolExecutor(16) as workers:
        yield workers


@pytest.mark.slow
def test_many_clients_get_their_own_answers_in_shared_batches(serving, translator, trained_run, pool):
    lines = [
        f"the {word} {number % 3 * 'old '}wind" for number, word in enumerate(["small", "large", "red"] * 16)
    ]
    offline = load_translator(str(trained_run)).translate(lines)
    server = serving(translator, window_ms=50.0)
    replies = list(pool.map(lambda line: post(server.url, "/translate", {"lines": [line]}), lines))
    assert [reply.json["translations"] for reply in replies] == [[text] for text in offline]
    health = get(server.url, "/health").json
    assert health["lines"] == len(lines)
    assert health["batches"] < len(lines) / 2


def test_a_full_queue_refuses_and_the_others_are_answered(serving, held, pool):
    server = serving(held, max_queue=3, max_lines=3, window_ms=0.0)
    first = pool.submit(post, server.url, "/translate", LINE)
    assert held.begun.wait(20)
    waiting = pool.submit(post, server.url, "/translate", {"lines": ["a", "b", "c"]})
    while get(server.url, "/health").json["queue"]["waiting"] < 3:
        time.sleep(0.01)
    reply = post(server.url, "/translate", LINE)
    assert (reply.status, reply.headers["retry-after"]) == (429, "1")
    assert "--max-queue" in reply.error["fix"]
    held.go.set()
    assert first.result().json == {"translations": ["NEVER"]}
    assert waiting.result().json == {"translations": ["A", "B", "C"]}


def test_an_answer_that_takes_too_long_is_given_up(serving, held):
    server = serving(held, timeout_s=0.3)
    assert "--timeout" in post(server.url, "/translate", LINE).error["fix"]
    *_, last = post(server.url, "/translate", {**LINE, "stream": True}).events
    assert last["error"]["code"] == 504
    held.go.set()
    assert post(server.url, "/translate", LINE).status == 200


def test_work_for_a_client_that_left_is_taken_back(serving, held, pool):
    server = serving(held, window_ms=0.0)
    first = pool.submit(post, server.url, "/translate", LINE)
    assert held.begun.wait(20)
    body = b'{"lines": ["a", "b"], "stream": true}'
    with connected(server.url) as client:
        client.sendall(head("/translate", f"Content-Length: {len(body)}") + body)
        while get(server.url, "/health").json["queue"]["waiting"] < 2:
            time.sleep(0.01)
    while get(server.url, "/health").json["queue"]["waiting"]:
        time.sleep(0.01)
    held.go.set()
    assert first.result().status == 200
    health = get(server.url, "/health").json["requests"]
    assert (health["disconnected"], health["running"]) == (1, 1)


def test_a_failing_model_is_an_error_of_the_server_and_the_next_request_works(serving, held):
    held.go.set()
    server = serving(held)
    reply = post(server.url, "/translate", {"lines": ["fail"]})
    assert (reply.status, reply.error["type"], reply.error["got"]) == (
        500,
        "server_error",
        "ZeroDivisionError",
    )
    *_, last = post(server.url, "/translate", {"lines": ["fail"], "stream": True}).events
    assert last["error"]["code"] == 500
    assert post(server.url, "/translate", LINE).status == 200


def test_connections_beyond_the_limit_are_refused(serving, translator):
    server = serving(translator, max_connections=2)
    with connected(server.url) as one, connected(server.url) as two:
        for client in (one, two):
            client.sendall(head("/health", method="GET"))
            assert read_all(client).status == 200
        assert get(server.url, "/health").status == 503
    while get(server.url, "/health").status != 200:
        time.sleep(0.01)


def test_a_server_that_stops_finishes_what_runs_and_takes_nothing_new(serving, held, pool):
    server = serving(held)
    running = pool.submit(post, server.url, "/translate", LINE)
    with connected(server.url) as idle, connected(server.url) as half:
        body = b'{"lines": ["late"]}'
        request = head("/translate", f"Content-Length: {len(body)}") + body
        half.sendall(request[:-3])
        assert held.begun.wait(20)
        stopped = pool.submit(server.stop)
        assert idle.recv(10) == b""
        half.sendall(request[-3:])
        reply = read_all(half)
        assert (reply.status, reply.headers["connection"]) == (503, "close")
        assert "stopping" in reply.error["what"]
        with pytest.raises(OSError):
            get(server.url, "/health")
        assert not stopped.done()
        held.go.set()
        reply = running.result()
        assert (reply.status, reply.headers["connection"]) == (200, "close")
        stopped.result()
    assert server.num_cut_off == 0


def test_what_never_ends_is_cut_off(serving, held, pool):
    server = serving(held, stop_timeout_s=0.2)
    running = pool.submit(post, server.url, "/translate", LINE)
    assert held.begun.wait(20)
    stopped = pool.submit(server.stop)
    with pytest.raises(OSError):
        running.result()
    held.go.set()
    stopped.result()
    assert server.num_cut_off == 1
