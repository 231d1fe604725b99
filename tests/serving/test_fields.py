from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.for_each import for_each
from trimtab.serving.connection import Request
from trimtab.serving.fields import Fields, json_object
from trimtab.serving.refused import Refused


def request(body: bytes, content_type: str = "application/json; charset=utf-8") -> Request:
    return Request("POST", "/translate", {"content-type": content_type}, body)


def test_an_object_is_read():
    assert json_object(request('{"a": "ö"}'.encode())) == {"a": "ö"}


@for_each(
    ("body", "word"),
    [(b"", "not JSON"), (b"[1]", "not a JSON object"), (b"{", "not JSON"), (b'{"a": NaN}', "not JSON"),
     (b'{"a": -Infinity}', "not JSON"), (b'"\xff"', "not UTF-8"), (b"[" * 100_000, "not JSON"),
     (b'{"a": ' + b"9" * 5000 + b"}", "not JSON"), (b"\xef\xbb\xbf{}", "not JSON")],
)  # fmt: skip
def test_what_is_no_object_is_refused(body, word):
    with pytest.raises(Refused, match=word) as refused:
        json_object(request(body))
    assert refused.value.status == 400


@for_each("kind", ["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])
def test_types_that_a_form_of_another_site_could_send_are_refused(kind):
    with pytest.raises(Refused) as refused:
        json_object(request(b"{}", kind))
    assert refused.value.status == 415


@given(st.binary(max_size=40))
def test_no_bytes_do_anything_but_pass_or_be_refused(body):
    with suppress(Refused):
        assert isinstance(json_object(request(body)), dict)


KNOWN = ("text", "texts", "count", "share", "yes")


def test_values_of_the_right_types_are_given_and_null_is_nothing():
    fields = Fields({"text": "a", "texts": ["b"], "count": 3.0, "share": 1, "yes": True, "old": 1}, known=KNOWN,
                    ignored=("old",))  # fmt: skip
    assert (fields.text("text"), fields.texts("texts"), fields.text_or_texts("text")) == ("a", ["b"], ["a"])
    assert (fields.whole("count"), fields.number("share"), fields.flag("yes")) == (3, 1.0, True)
    empty = Fields(dict.fromkeys(KNOWN), known=KNOWN)
    assert (empty.text("text"), empty.whole("count"), empty.number("share"), empty.flag("yes")) == (
        None,
        None,
        None,
        False,
    )


@for_each(
    "given",
    [{"text": 1}, {"texts": "a"}, {"texts": [1]}, {"count": "3"}, {"count": True}, {"count": 1.5}, {"share": "x"},
     {"share": False}, {"yes": 1}, {"share": 10**400}, {"text": ["a"]}, {"count": {}}],
)  # fmt: skip
def test_values_of_other_types_are_refused_by_name(given):
    fields = Fields(given, known=KNOWN)
    read = {
        "text": fields.text,
        "texts": fields.texts,
        "count": fields.whole,
        "share": fields.number,
        "yes": fields.flag,
    }
    (name,) = given
    with pytest.raises(Refused, match=name):
        read[name](name)


def test_an_unknown_key_is_refused_with_the_nearest_one():
    with pytest.raises(Refused) as refused:
        Fields({"txt": "a"}, known=KNOWN)
    assert refused.value.problems[0].fix == "did you mean text?"


def test_one_of_several_keys_is_needed():
    assert Fields({"text": "a"}, known=KNOWN).one_of("text", "texts") == "text"
    for other in ({}, {"text": "a", "texts": []}):
        with pytest.raises(Refused, match="text or texts"):
            Fields(other, known=KNOWN).one_of("text", "texts")
