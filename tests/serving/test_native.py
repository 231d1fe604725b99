import pytest

from tests.serving.clients import post
from trimtab.decode.generation_config import GenerationConfig
from trimtab.inference import load_generator, load_translator

LINES = ["the small ship turns slowly", "", "the wind", "old sail " * 40, "  ", "a\u2028b", "never"]


@pytest.fixture(scope="module")
def offline(trained_run):
    return load_translator(str(trained_run)).translate(LINES)


def test_lines_come_back_as_translate_gives_them(translates, offline):
    assert post(translates, "/translate", {"lines": LINES}).json == {"translations": offline}
    assert post(translates, "/translate", {"lines": []}).json == {"translations": []}


def test_a_text_keeps_its_lines(translates, offline):
    assert post(translates, "/translate", {"text": "the wind\r\n\nnever"}).json == {
        "translation": f"{offline[2]}\n\n{offline[6]}"
    }
    assert post(translates, "/translate", {"text": ""}).json == {"translation": ""}


def test_a_stream_gives_line_after_line(translates, offline):
    events = post(translates, "/translate", {"lines": LINES, "stream": True}).events
    assert events == [
        *({"line": number, "translation": text} for number, text in enumerate(offline, 1)),
        "[DONE]",
    ]


@pytest.mark.parametrize(
    ("body", "status", "word"),
    [({}, 400, "lines or text"), ({"lines": ["a"], "text": "a"}, 400, "lines or text"), ({"lines": "a"}, 400, "lines"),
     ({"lines": ["a"], "tags": ["<2xx>"]}, 400, "<2xx>"), ({"lines": ["a"], "tags": ["a"] * 9}, 400, "tags"),
     ({"lines": ["a"] * 51}, 413, "too many lines"), ({"text": "a" * 501}, 413, "line 1 is too long"),
     ({"lines": ["a"], "beam": 4}, 400, "beam"), ({"lines": ["a"], "stream": "yes"}, 400, "stream")],
)  # fmt: skip
def test_requests_that_cannot_be_translated_are_refused_by_name(translates, body, status, word):
    reply = post(translates, "/translate", body)
    assert reply.status == status
    assert word in reply.error["what"]


@pytest.mark.slow
def test_texts_come_back_as_generate_gives_them(writes, text_run):
    prompts = ["the small", "", "old sail"]
    generation = GenerationConfig(max_tokens=6, samples=2)
    offline = [each.to_dict() for each in load_generator(str(text_run)).generate(prompts, generation)]
    texts = post(writes, "/generate", {"prompts": prompts, "max_tokens": 6, "samples": 2}).json["texts"]
    assert [each["text"] for each in texts] == [each["text"] for each in offline]
    assert texts == [pytest.approx(each) for each in offline]


def test_a_stream_of_a_text_adds_up_to_the_text(writes):
    body = {"prompt": "the small", "max_tokens": 12, "temperature": 0}
    whole = post(writes, "/generate", body).json["texts"][0]
    *parts, last, end = post(writes, "/generate", {**body, "stream": True}).events
    assert "".join(each["part"] for each in parts) == whole["text"]
    assert (last, end) == (pytest.approx(whole), "[DONE]")
    assert len(parts) > 3


def test_a_text_ends_before_a_stop_string_in_a_stream_too(writes):
    whole = post(writes, "/generate", {"prompt": "the", "max_tokens": 20, "temperature": 0}).json["texts"][0][
        "text"
    ]
    stop = whole[8:10]
    body = {"prompt": "the", "max_tokens": 20, "temperature": 0, "stop": [stop]}
    stopped = post(writes, "/generate", body).json["texts"][0]
    assert (stopped["text"], stopped["stopped"]) == (whole[: whole.index(stop)], "stop")
    events = post(writes, "/generate", {**body, "stream": True}).events
    assert "".join(each.get("part", "") for each in events[:-1]) == stopped["text"]


@pytest.mark.parametrize(
    ("body", "status", "word"),
    [({}, 400, "prompt or prompts"), ({"prompt": "a " * 100}, 400, "longer than"),
     ({"prompt": "a", "seed": -1}, 400, "seed"),
     ({"prompt": "a", "temperature": 1e9}, 400, "temperature"), ({"prompt": "a", "max_tokens": 0}, 400, "max_tokens"),
     ({"prompt": "a", "samples": 2, "temperature": 0}, 400, "samples"), ({"prompt": "a\ud800"}, 400, ""),
     ({"prompts": ["a"] * 30, "samples": 2}, 413, "samples"), ({"prompt": "a", "stop": [""]}, 400, "stop")],
)  # fmt: skip
def test_prompts_that_cannot_be_continued_are_refused_by_name(writes, body, status, word):
    reply = post(writes, "/generate", body)
    assert reply.status == status
    assert word in reply.error["what"]
