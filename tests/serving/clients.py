"""Clients of a server under test: one that speaks HTTP well, and one that sends whatever it is given."""

import http.client
import json
import socket
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit


@dataclass(frozen=True)
class Reply:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> dict[str, Any]:
        """The error, which says what, got, allowed and fix."""
        found = self.json["error"]
        assert {"message", "type", "code", "what", "got", "allowed", "fix"} <= found.keys()
        assert found["code"] == self.status
        assert found["what"]
        assert found["fix"]
        return found

    @property
    def events(self) -> list[Any]:
        """The server-sent events; the last one of a whole stream is `[DONE]`."""
        assert self.headers["content-type"].startswith("text/event-stream")
        lines = [each.removeprefix("data: ") for each in self.body.decode().split("\n\n") if each]
        return [each if each == "[DONE]" else json.loads(each) for each in lines]


def get(url: str, path: str, *, method: str = "GET", **headers: str) -> Reply:
    return _exchange(url, method, path, None, headers)


def post(url: str, path: str, value: Any, **headers: str) -> Reply:
    return _exchange(
        url, "POST", path, json.dumps(value).encode(), {"Content-Type": "application/json", **headers}
    )


def _exchange(url: str, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> Reply:
    place = urlsplit(url)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=60)
    try:
        connection.request(
            method, path, body, {name.replace("_", "-"): text for name, text in headers.items()}
        )
        answer = connection.getresponse()
        return Reply(answer.status, {name.lower(): text for name, text in answer.getheaders()}, answer.read())
    finally:
        connection.close()


def connected(url: str) -> socket.socket:
    place = urlsplit(url)
    return socket.create_connection((place.hostname or "", place.port or 0), timeout=60)


def raw(url: str, sent: bytes) -> Reply:
    """What comes back for these bytes, until the server closes; the sender stays open."""
    with connected(url) as client:
        client.sendall(sent)
        return read_all(client)


def read_all(client: socket.socket) -> Reply:
    answer = http.client.HTTPResponse(client)
    answer.begin()
    return Reply(answer.status, {name.lower(): text for name, text in answer.getheaders()}, answer.read())


def head(path: str, *lines: str, method: str = "POST", host: str = "localhost") -> bytes:
    """A request up to its body."""
    own = [f"{method} {path} HTTP/1.1", f"Host: {host}", "Content-Type: application/json", *lines]
    return "\r\n".join([*own, "", ""]).encode("latin-1")
