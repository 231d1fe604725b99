import re
import socket
import time

import pytest

from tests.serving.clients import Reply, connected, get, head, post, raw, read_all
from trimtab.serving.connection import HEAD_BYTES

BODY = b'{"lines": ["never"]}'


def request(body: bytes = BODY, *lines: str) -> bytes:
    return head("/translate", f"Content-Length: {len(body)}", *lines) + body


def test_several_requests_share_a_connection(translates):
    with connected(translates) as client:
        for _ in range(3):
            client.sendall(request())
            assert read_all(client).status == 200


def test_requests_that_are_sent_without_waiting_are_answered_in_order(translates):
    with connected(translates) as client:
        client.sendall(request() + request(b"{") + head("/health", "Connection: close", method="GET"))
        with client.makefile("rb") as answers:
            found = answers.read()
    assert re.findall(rb"HTTP/1.1 (\d+)", found) == [b"200", b"400", b"200"]


def test_a_body_may_come_in_chunks_and_after_a_question(translates):
    chunked = head("/translate", "Transfer-Encoding: chunked") + b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)
    assert raw(translates, chunked).status == 200
    with connected(translates) as client:
        client.sendall(head("/translate", f"Content-Length: {len(BODY)}", "Expect: 100-continue"))
        assert client.recv(100).startswith(b"HTTP/1.1 100")
        client.sendall(BODY)
        assert read_all(client).status == 200


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"hello\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nbad header\r\n\r\n", 400),
        (b"GET /\xff\x00 HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
        (head("/translate", "Content-Length: -1"), 400),
        (head("/translate", "Content-Length: abc"), 400),
        (head("/translate", "Content-Length: 5", "Content-Length: 6"), 400),
        (head("/translate", "Content-Length: " + "9" * 5000), 400),
        (head("/translate", "Content-Length: 99999999"), 413),
        (head("/translate", "Transfer-Encoding: gzip"), 501),
        (head("/translate", "Content-Length: 5", "Transfer-Encoding: chunked") + b"5\r\nabcde\r\n0\r\n\r\n", 400),
        (head("/translate", "Transfer-Encoding: chunked") + b"zz\r\n", 400),
        (head("/translate", "Transfer-Encoding: chunked") + b"7530\r\n" + b"a" * 30_000 + b"\r\n", 413),
        (head("/translate", "X: " + "a" * 3 * HEAD_BYTES), 431),
        (head("/translate", *[f"X{number}: a" for number in range(5000)]), 431),
        (head("/" + "a" * 3 * HEAD_BYTES), 431),
        (request(b'{"lines": ["\xff"]}'), 400),
        (head("/translate"), 400),
        (head("http://evil.com/", method="GET"), 404),
        (head("/health", method="GET", host="evil.com"), 403),
    ],
)  # fmt: skip
def test_hostile_requests_are_refused_and_the_next_client_is_served(translates, sent, status):
    reply = raw(translates, sent)
    assert reply.status == status
    assert reply.error["allowed"]
    assert post(translates, "/translate", {"lines": ["never"]}).status == 200


def test_an_answer_reaches_a_client_that_is_still_sending(translates):
    size = 3_000_000
    with connected(translates) as client:
        client.sendall(head("/translate", f"Content-Length: {size}") + b"a" * size)
        reply = read_all(client)
    assert (reply.status, reply.headers["connection"]) == (413, "close")


@pytest.fixture
def impatient(serving, translator):
    return serving(translator, receive_timeout_s=0.2, idle_timeout_s=0.2).url


def test_a_slow_client_is_told_so_and_dropped(impatient):
    assert raw(impatient, head("/translate", "Content-Length: 20") + b"{").status == 408
    assert raw(impatient, b"GET / HT").status == 408
    with connected(impatient) as client:  # a byte now and then makes no difference
        for byte in request()[:20]:
            try:
                client.sendall(bytes([byte]))
            except OSError:
                break
            time.sleep(0.02)
        assert read_all(client).status == 408


def test_a_connection_without_a_request_is_closed(impatient):
    with connected(impatient) as client:
        assert client.recv(10) == b""


def test_clients_that_leave_at_any_moment_do_no_harm(translates):
    whole = request()
    for length in (0, 1, 30, len(whole) - 5, len(whole)):
        with connected(translates) as client:
            client.sendall(whole[:length])
            if length % 2:
                client.setsockopt(
                    socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0"
                )  # a reset, not an end
    assert post(translates, "/translate", {"lines": ["never"]}).status == 200


def test_the_head_alone_is_asked_for(translates):
    reply: Reply = get(translates, "/health", method="HEAD")
    assert (reply.status, reply.body) == (200, b"")
