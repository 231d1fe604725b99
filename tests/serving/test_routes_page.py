import base64
import hashlib
import re

from tests.serving.clients import get
from trimtab.serving.routes import page_answer


def test_the_page_loads_nothing_from_anywhere(translates):
    reply = get(translates, "/")
    assert reply.status == 200
    assert reply.headers["content-type"] == "text/html; charset=utf-8"
    assert re.findall(rb"https?://|src=|@import|url\(", reply.body) == []


def test_a_browser_runs_its_script_and_no_other():
    answer = page_answer()
    (script,) = re.findall(r"<script>(.*?)</script>", answer.body.decode(), re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = answer.headers["content-security-policy"]
    assert f"script-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert "innerHTML" not in script  # what a model writes is text, never markup


def test_the_page_may_be_asked_for_by_its_head_alone(translates):
    reply = get(translates, "/", method="HEAD")
    assert (reply.status, reply.body) == (200, b"")
    assert int(reply.headers["content-length"]) > 1000
