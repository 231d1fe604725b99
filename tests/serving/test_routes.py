import pytest

from tests.serving.clients import get, post

TRANSLATION, TEXT = {"lines": ["never"]}, {"prompt": "a", "max_tokens": 1}


@pytest.mark.parametrize(
    "path",
    [
        "/../../etc/passwd",
        "/..%2f..%2fetc/passwd",
        "/page.html",
        "//etc/passwd",
        "/translate/",
        "/Translate",
        "/v1",
    ],
)
def test_no_path_is_a_file(translates, path):
    reply = get(translates, path)
    assert reply.status == 404
    assert "/translate" in reply.error["allowed"]


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "HACK"])
def test_other_methods_are_refused(translates, method):
    reply = get(translates, "/translate", method=method)
    assert (reply.status, reply.headers["allow"]) == (405, "POST")
    assert "access-control-allow-origin" not in reply.headers
    assert "POST" in reply.error["fix"]


def test_each_kind_of_model_says_where_its_own_requests_go(translates, writes):
    assert "/translate" in post(translates, "/v1/completions", TEXT).error["fix"]
    assert "/generate" in post(writes, "/translate", TRANSLATION).error["fix"]


def test_pages_and_names_of_other_sites_are_refused(translates):
    assert post(translates, "/translate", TRANSLATION, Origin="http://evil.com").status == 403
    assert post(translates, "/translate", TRANSLATION, Host="evil.com").status == 403
    assert post(translates, "/translate", TRANSLATION, Origin=translates).status == 200
    assert get(translates, "/health", Host="evil.com").error["got"] == "evil.com"


def test_a_name_that_was_allowed_is_answered(serving, translator):
    server = serving(translator, allow_hosts=("MT.example.org",))
    assert post(server.url, "/translate", TRANSLATION, Host="mt.example.org:80").status == 200


def test_what_follows_a_question_mark_changes_nothing(translates):
    assert post(translates, "/translate?a=/health", TRANSLATION).status == 200


def test_a_link_on_another_site_opens_the_page_and_nothing_else(translates):
    link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert get(translates, "/", **link).status == 200
    assert get(translates, "/health", **link).status == 403
