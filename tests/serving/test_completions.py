import pytest

from tests.serving.clients import get, post
from trimtab.decode.generation_config import GenerationConfig
from trimtab.decode.sampling import Sampling
from trimtab.inference import load_generator


def complete(url, **body):
    return post(url, "/v1/completions", body)


def test_a_completion_is_the_text_that_generate_gives(writes, text_run):
    generation = GenerationConfig(max_tokens=6, samples=2, sampling=Sampling(temperature=0.7, seed=5))
    offline = list(load_generator(str(text_run)).generate(["the", "a b"], generation))
    found = complete(
        writes, model="small", prompt=["the", "a b"], max_tokens=6, n=2, temperature=0.7, seed=5
    ).json
    assert [each["text"] for each in found["choices"]] == [each.text for each in offline]
    assert [each["index"] for each in found["choices"]] == [0, 1, 2, 3]
    assert {each["finish_reason"] for each in found["choices"]} <= {"stop", "length"}
    assert found["usage"]["completion_tokens"] == sum(each.num_tokens for each in offline)
    assert (found["object"], found["model"]) == ("text_completion", "small")


def test_a_stream_adds_up_to_the_completion(writes):
    body = {"prompt": "the", "max_tokens": 8, "temperature": 0, "echo": True}
    whole = complete(writes, **body).json
    *events, usage, end = complete(writes, **body, stream=True, stream_options={"include_usage": True}).events
    assert "".join(each["choices"][0]["text"] for each in events) == whole["choices"][0]["text"]
    assert [each["choices"][0]["finish_reason"] for each in events[-2:]] == [None, "length"]
    assert (usage["choices"], usage["usage"], end) == ([], whole["usage"], "[DONE]")


def test_without_a_seed_texts_differ_and_have_sixteen_tokens(writes):
    found = [complete(writes, prompt="the", n=4).json for _ in range(2)]
    assert len({each["text"] for answer in found for each in answer["choices"]}) > 2
    assert all(each["usage"]["completion_tokens"] <= 4 * 16 for each in found)


@pytest.mark.parametrize(
    ("body", "status", "word"),
    [({}, 400, "prompt"), ({"prompt": [1, 2]}, 400, "prompt"), ({"prompt": "a", "model": "gpt-4"}, 404, "model"),
     ({"prompt": "a", "logprobs": 3}, 400, "logprobs"), ({"prompt": "a", "best_of": 4}, 400, "best_of"),
     ({"prompt": "a", "suffix": "x"}, 400, "suffix"), ({"prompt": "a", "frequency_penalty": 1}, 400, "frequency"),
     ({"prompt": "a", "stream_options": 1}, 400, "stream_options"), ({"prompt": "a", "tokens": 1}, 400, "tokens")],
)  # fmt: skip
def test_what_is_not_supported_is_refused_by_name(writes, body, status, word):
    reply = complete(writes, **body)
    assert reply.status == status
    assert word in reply.error["what"]


def test_values_that_change_nothing_pass(writes):
    body = {
        "best_of": 1,
        "frequency_penalty": 0.0,
        "presence_penalty": 0,
        "logit_bias": {},
        "user": "me",
        "logprobs": None,
    }
    assert complete(writes, prompt="a", max_tokens=1, **body).status == 200


def test_the_model_is_listed(writes):
    assert [each["id"] for each in get(writes, "/v1/models").json["data"]] == ["small"]


def test_the_model_is_found_by_its_name(writes):
    assert get(writes, "/v1/models/small").json == get(writes, "/v1/models").json["data"][0]
    for path, what in (("/v1/models/other", "model: not served here"), ("/v1/models/", "no such path")):
        reply = get(writes, path)
        assert (reply.status, reply.error["what"]) == (404, what)
    assert post(writes, "/v1/models/small", {}).status == 405


@pytest.mark.parametrize(
    ("body", "key"),
    [({"model": "gpt"}, "model"), ({"temperature": -1}, "temperature"), ({"logprobs": 2}, "logprobs")],
)
def test_errors_name_the_parameter_as_clients_of_openai_expect(writes, body, key):
    assert complete(writes, prompt="a", **body).error["param"] == key


def test_chat_is_refused_by_name(writes):
    reply = post(writes, "/v1/chat/completions", {"messages": [{"role": "user", "content": "hi"}]})
    assert reply.status == 404
    assert "chat template" in reply.error["what"]
