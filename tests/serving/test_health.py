from tests.serving.clients import get, post


def test_health_says_what_is_served_and_what_was_done(serving, translator):
    server = serving(translator, max_queue=77, max_lines=5)
    assert post(server.url, "/translate", {"lines": ["the wind", "never"]}).status == 200
    assert post(server.url, "/translate", {"lines": ["a"] * 6}).status == 413
    found = get(server.url, "/health").json
    assert (found["status"], found["model"], found["kind"], found["tags"]) == (
        "ok",
        "small",
        "translation",
        [],
    )
    assert found["queue"] == {"waiting": 0, "allowed": 77}
    assert found["requests"] == {
        "received": 3,
        "running": 1,
        "disconnected": 0,
        "answered": {"200": 1, "413": 1},
    }
    assert (found["batches"], found["lines"], found["lines_per_batch"]) == (1, 2, 2.0)
    assert found["limits"]["max_lines"] == 5


def test_health_of_a_language_model_names_its_window(writes):
    found = get(writes, "/health").json
    assert (found["kind"], found["window"]) == ("language_model", 48)
