import pytest

from tests.for_each import for_each
from trimtab.errors import InputError
from trimtab.serving.origin import check_host, check_origin, host_names
from trimtab.serving.refused import Refused


@for_each(
    "host",
    ["localhost", "localhost:8080", "LOCALHOST:1", "127.0.0.1:80", "192.168.1.7", "[::1]:8080", "[::1]", "localhost.",
     "mt.example.org:8080"],
)  # fmt: skip
def test_addresses_and_known_names_are_its_own(host):
    check_host({"host": host}, names={"mt.example.org"})


@for_each(
    "host",
    ["evil.com", "127.0.0.1.evil.com", "localhost.evil.com", "", "evil.com:8080", "a@localhost", "localhost/evil.com",
     "localhost:x", "[::1", "127.0.0.1:8080@evil.com", "localhost#", "x localhost"],
)  # fmt: skip
def test_a_name_that_somebody_else_may_own_is_refused(host):
    with pytest.raises(Refused) as refused:
        check_host({"host": host} if host else {}, names={"mt.example.org"})
    assert refused.value.status == 403
    assert "--allow-host" in refused.value.problems[0].fix


@for_each(
    "headers",
    [{}, {"origin": "http://localhost:8080"}, {"origin": "https://LOCALHOST:8080"},
     {"sec-fetch-site": "same-origin", "origin": "http://localhost:8080"}, {"sec-fetch-site": "none"}],
)  # fmt: skip
def test_its_own_page_and_programs_may(headers):
    check_origin({"host": "localhost:8080", **headers})


@for_each(
    "headers",
    [{"origin": "http://evil.com"}, {"origin": "null"}, {"origin": "http://localhost:9999"}, {"origin": ""},
     {"sec-fetch-site": "cross-site"}, {"sec-fetch-site": "same-site"}, {"origin": "http://localhost:8080.evil.com"}],
)  # fmt: skip
def test_a_page_of_another_site_may_not(headers):
    with pytest.raises(Refused) as refused:
        check_origin({"host": "localhost:8080", **headers})
    assert refused.value.status == 403


@for_each(
    "name", ["", " ", "http://mt.example.org", "mt.example.org:80", "a b", "*", "-a", "ä.org", "a" * 300]
)
def test_what_is_no_name_of_a_host_opens_no_door(name):
    with pytest.raises(InputError, match="not the name of a host"):
        host_names([name])


def test_names_are_compared_in_lower_case_and_without_a_last_dot():
    assert host_names(["MT.Example.org.", "box_1"]) == {"mt.example.org", "box_1"}
