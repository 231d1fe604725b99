import json
import shutil
import time

import pytest

from tests.report.folder_of_a_run import HOSTILE, finding_line, step_line, write_run
from tests.serving.clients import get, post
from trimtab.errors import InputError
from trimtab.report.watch import SPACING_S, start_watching


@pytest.fixture
def server(tmp_path):
    """A page that watches a run of ten steps."""
    with start_watching(write_run(tmp_path / "my", steps=10), port=0) as running:
        yield running


def append(run, name, line):
    with open(run / f"{name}.jsonl", "a") as file:
        file.write(json.dumps(line) + "\n")


def newest(server, tag):
    """The content once it has changed."""
    for _ in range(200):
        time.sleep(SPACING_S)
        reply = get(server.url, "/live", if_none_match=tag)
        if reply.status == 200:
            return reply
    raise AssertionError("nothing new came")


def test_the_page_is_there_and_its_news_come_once(server):
    page = get(server.url, "/")
    assert page.headers["content-type"].startswith("text/html")
    assert b"connect-src &#39;self&#39;" in page.body
    first = get(server.url, "/live")
    assert first.json["newest"] == 10
    assert set(first.json["sections"]) >= {"overview", "samples", "recipe"}
    again = get(server.url, "/live", if_none_match=first.headers["etag"])
    assert (again.status, again.body) == (304, b"")


def test_what_training_writes_is_on_the_page_soon(server, tmp_path):
    tag = get(server.url, "/live").headers["etag"]
    append(tmp_path / "my", "metrics", step_line(11))
    append(tmp_path / "my", "findings", finding_line(11, message=HOSTILE))
    reply = newest(server, tag)
    while reply.json["newest"] < 11 or "&lt;script&gt;" not in reply.json["sections"]["overview"]:
        reply = newest(server, reply.headers["etag"])
    assert "<script>" not in reply.json["sections"]["overview"]


def test_a_run_that_is_deleted_leaves_the_page_standing(server, tmp_path):
    tag = get(server.url, "/live").headers["etag"]
    shutil.rmtree(tmp_path / "my")
    reply = newest(server, tag)
    assert "its folder is gone" in reply.json["sections"]["overview"]
    assert reply.json["newest"] == 10
    assert get(server.url, "/").status == 200


@pytest.mark.parametrize(
    "path", ["/../my/recipe.yaml", "/recipe.yaml", "/%2e%2e/etc/passwd", "/live/", "//etc/passwd", "/health"]
)
def test_nothing_but_the_page_is_served(server, path):
    assert get(server.url, path).error["code"] == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
@pytest.mark.parametrize("path", ["/", "/live"])
def test_a_run_is_watched_and_never_changed(server, method, path):
    reply = get(server.url, path, method=method)
    assert reply.status == 405
    assert reply.headers["allow"] == "GET, HEAD"


def test_a_body_is_too_large_for_it(server):
    assert post(server.url, "/live", {"a": 1}).status in (405, 413)


@pytest.mark.parametrize("host", ["evil.com", "localhost.evil.com", "run.example:8090"])
def test_a_name_that_was_pointed_here_gets_nothing(server, host):
    for path in ("/", "/live"):
        assert get(server.url, path, host=host).status == 403


def test_another_site_gets_nothing(server):
    assert get(server.url, "/live", origin="http://evil.com").status == 403
    assert get(server.url, "/live", sec_fetch_site="cross-site").status == 403


def test_it_listens_on_this_machine_alone(server):
    assert server.listening.getsockname()[0] == "127.0.0.1"


def test_no_run_is_an_error_before_anything_is_served(tmp_path):
    with pytest.raises(InputError, match="no such run"):
        start_watching(tmp_path / "none", port=0)
