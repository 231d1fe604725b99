import json
from types import SimpleNamespace

import pytest

from tests.cli.refusal import has_four_parts, refused
from trimtab.evaluation.pairs import PairScore


@pytest.fixture
def files(tmp_path):
    for name, text in (("s", "a\nb\n"), ("t", "c\nd\n")):
        (tmp_path / name).write_text(text)
    return ["--source", tmp_path / "s", "--target", tmp_path / "t"]


@pytest.fixture
def calls(stand_in):
    seen = []

    def open_model(run, *, device):
        return SimpleNamespace(run=run, device=device, tokenizers=None)

    def score_pairs(model, sources, targets, *, tags):
        pairs = list(zip(sources, targets, strict=True))
        seen.append((model.run, pairs, {"tags": tags, "device": model.device}))
        yield PairScore(line=1, num_tokens=4, log_probability=-2.0, source_tokens=3)
        yield PairScore(line=2, num_tokens=9, log_probability=None, source_tokens=300)

    stand_in("inference", open_model=open_model)
    stand_in("evaluation.pairs", score_pairs=score_pairs)
    return seen


def test_a_pair_is_a_row_and_what_was_not_scored_is_named(call, calls, files):
    result = call("score", "run@last", *files, "--tag", "<x>", "--device", "cpu")
    assert (result.exit_code, result.stdout) == (0, "-2.000000\t-0.500000\t4\nnan\tnan\t9\n")
    assert result.stderr.startswith("line 2: not scored, longer than data.max_tokens")
    assert calls == [("run@last", [("a", "c"), ("b", "d")], {"tags": ["<x>"], "device": "cpu"})]


def test_json_is_an_object_a_line(call, calls, files):
    rows = [json.loads(line) for line in call("score", "run", *files, "--json").stdout.splitlines()]
    assert rows[0] == {"line": 1, "log_probability": -2.0, "per_token": -0.5, "tokens": 4, "source_tokens": 3}
    assert rows[1]["log_probability"] is None


def test_a_file_that_is_not_there_is_named_with_its_option(call, calls, files, tmp_path):
    message = refused(call("score", "run", *files[:3], tmp_path / "tt"), "--target", "no such file")
    assert has_four_parts(message)
    assert calls == []
