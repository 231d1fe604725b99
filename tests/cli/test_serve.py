from types import SimpleNamespace

import pytest

from tests.cli.refusal import has_four_parts, refused
from trimtab.errors import Terminated
from trimtab.serving.limits import ServeLimits
from trimtab.serving.models import ServeOptions


@pytest.fixture
def served(monkeypatch):
    calls = []

    def serve(run, *, ready, **options):
        calls.append((run, options))
        model = SimpleNamespace(kind="translation", does="translates")
        ready(SimpleNamespace(url="http://127.0.0.1:1", service=SimpleNamespace(model=model)))
        raise Terminated("by SIGTERM; running requests were finished")

    monkeypatch.setattr("trimtab.serving.serve.serve", serve)
    return calls


@pytest.mark.slow
def test_it_says_where_it_answers_and_how_it_ended(call, served):
    result = call("serve", "runs/x")
    assert result.exit_code == 143
    assert result.stderr.splitlines() == [
        "reading runs/x",
        "runs/x translates at http://127.0.0.1:1   (Ctrl-C stops)",
        "stopped: by SIGTERM; running requests were finished",
    ]
    assert result.stdout == ""
    options = {
        "host": "127.0.0.1",
        "port": 8080,
        "options": ServeOptions(),
        "limits": ServeLimits(),
        "allow_hosts": (),
    }
    assert served == [("runs/x", options)]


def test_every_option_is_handed_on(call, served):
    call("serve", "runs/x", "--host", "0.0.0.0", "--port", 0, "--beam", 2, "--length-penalty", 0.5, "--stop", "enough",
         "--tag", "<a>", "--device", "cpu", "--threads", 2, "--batch-tokens", 99, "--max-length", 50, "--window-ms", 1,
         "--timeout", 9, "--max-body", 1000, "--max-lines", 7, "--max-characters", 8, "--max-queue", 9,
         "--max-connections", 3, "--allow-host", "mt.example.org")  # fmt: skip
    ((_, given),) = served
    assert given["options"] == ServeOptions(beam=2, length_penalty=0.5, stop="enough", tags=("<a>",), device="cpu",
                                            threads=2, batch_tokens=99, max_length=50, window_ms=1.0)  # fmt: skip
    assert given["limits"] == ServeLimits(max_body=1000, max_lines=7, max_characters=8, max_queue=9,
                                          max_connections=3, timeout_s=9.0)  # fmt: skip
    assert (given["host"], given["port"], given["allow_hosts"]) == ("0.0.0.0", 0, ["mt.example.org"])


@pytest.mark.parametrize(
    "option",
    [("--port", 70_000), ("--timeout", 0), ("--max-lines", 0), ("--threads", "two"), ("--max-length", 1)],
)
def test_numbers_out_of_range_are_refused(call, served, option):
    assert has_four_parts(refused(call("serve", "runs/x", *option), option[0]))
    assert served == []


def test_limits_that_contradict_each_other_are_refused(call, served):
    assert has_four_parts(refused(call("serve", "runs/x", "--max-queue", 5, "--max-lines", 6), "max_queue"))


def test_a_run_that_is_not_there_is_refused(call, tmp_path):
    refused(call("serve", tmp_path / "none", "--port", 0), "none")
