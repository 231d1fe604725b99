import json

from trimtab.errors import Problem
from trimtab.serving.refused import MOST_PROBLEMS, Refused, error_object, json_bytes, refused


def test_an_error_says_everything_in_its_message_and_each_part_by_itself():
    error = refused(413, "too long", got="9", allowed="8", fix="cut it").to_dict()["error"]
    assert error["message"] == "too long; got 9; allowed 8; fix cut it"
    assert (error["what"], error["got"], error["allowed"], error["fix"]) == ("too long", "9", "8", "cut it")
    assert (error["code"], error["type"]) == (413, "invalid_request_error")
    assert "problems" not in error


def test_several_problems_are_all_there_and_not_endlessly_many():
    error = error_object(400, [Problem(what=f"wrong {number}") for number in range(50)])["error"]
    assert [each["what"] for each in error["problems"]] == [
        f"wrong {number}" for number in range(MOST_PROBLEMS)
    ]


def test_what_came_from_a_client_cannot_fill_the_answer_or_a_terminal():
    body = json_bytes(refused(400, "x" * 5000 + "\x1b[2J", got="y" * 10_000, allowed="", fix="").to_dict())
    assert len(body) < 6000
    assert b"\x1b" not in body


def test_half_characters_become_the_escapes_that_json_has():
    assert json.loads(json_bytes({"a": "x\ud800"})) == {"a": "x\ud800"}
    assert json_bytes("ö") == '"ö"'.encode()


def test_server_errors_have_a_type_of_their_own():
    assert Refused(500, Problem(what="a")).to_dict()["error"]["type"] == "server_error"
