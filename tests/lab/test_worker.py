import io
import json
import sys
from pathlib import Path

import pytest

from trimtab.config.load import load_recipe
from trimtab.lab import worker

RECIPE = Path(__file__).parents[2] / "experiments" / "scales" / "tiny.yaml"
SMALL = {
    "data.tokenizer.vocabulary_size": 400,
    "data.tokenizer.training_lines": 300,
    "length": "3 steps",
    "step.schedule.warmup": "1 steps",
    "evaluate.every": "3 steps",
    "evaluate.lines": 2,
    "model.dim": 8,
    "seed": 1,
}


def job(tmp_path, **changes):
    return {
        "key": "k",
        "recipe": str(RECIPE),
        "overrides": SMALL | changes,
        "folder": str(tmp_path / "run"),
        "tokenizers": str(tmp_path / "tokenizers"),
    }


@pytest.mark.slow
def test_a_run_leaves_its_record_and_its_vocabulary_alone(tmp_path):
    record = worker.made(job(tmp_path))
    assert (record["key"], record["ended"], record["steps"]) == ("k", "finished", 3)
    assert set(record["scores"]) == {"prose"}
    assert record["scores"]["prose"]["loss"] > 0
    assert "chrf" in record["scores"]["prose"]
    assert [step for step, _ in record["course"]] == [1, 2, 3]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tokenizers"]
    (pieces,) = (tmp_path / "tokenizers").iterdir()
    assert pieces == worker.shared_pieces(load_recipe(RECIPE, SMALL), tmp_path / "tokenizers")


@pytest.mark.parametrize("changes", [{"model.dim": -1}, {"model.dimm": 8}, {"data.root": "/no/such/folder"}])
def test_a_recipe_that_cannot_run_is_refused(tmp_path, changes):
    record = worker.made(job(tmp_path, **changes))
    assert record["ended"] == "refused"
    assert record["error"]
    assert record["seconds"] >= 0


def test_recipes_share_a_vocabulary_where_they_train_the_same_one(tmp_path):
    def place(**changes):
        return worker.shared_pieces(load_recipe(RECIPE, SMALL | changes), tmp_path)

    assert place() == place(**{"model.dim": 16, "seed": 9, "length": "9 steps"})
    assert place() != place(**{"data.tokenizer.vocabulary_size": 500})
    decoder = load_recipe(RECIPE.with_name("tiny_decoder.yaml"))
    same_data = {"data.tokenizer.byte_fallback": True}
    assert worker.shared_pieces(decoder, tmp_path) != place(**same_data), (
        "it has a piece between the languages"
    )
    bytes_alone = load_recipe(RECIPE.with_name("tiny_decoder.yaml"), {"data.tokenizer": {"kind": "bytes"}})
    assert worker.shared_pieces(bytes_alone, tmp_path) is None


def test_a_vocabulary_is_kept_once(tmp_path):
    trained, kept = tmp_path / "trained", tmp_path / "tokenizers" / "a.model"
    worker.keep_pieces(trained, kept)
    assert not kept.exists()
    for text in ("first", "second"):
        trained.write_text(text)
        worker.keep_pieces(trained, kept)
    worker.keep_pieces(trained, None)
    assert [path.read_text() for path in kept.parent.iterdir()] == ["first"]


def test_what_was_measured_is_read_from_the_logs(tmp_path):
    def log(name, *lines):
        (tmp_path / name).write_text("\n".join(lines))

    log(
        "evaluations.jsonl",
        '{"set": "prose", "loss": 3.0, "chrf": 10}',
        '{"set": "prose", "loss": 2.0, "chrf": NaN}',
    )
    log(
        "metrics.jsonl",
        *(json.dumps({"step": step, "loss": 1 / step, "skipped": step == 5}) for step in range(1, 121)),
        '{"step": 121, "lo',
    )  # fmt: skip
    log("findings.jsonl", '{"code": "T310"}', '{"code": "T310"}')
    found = worker.measured(tmp_path)
    assert found["scores"] == {"prose": {"loss": 2.0}}
    assert (len(found["course"]), found["course"][-1]) == (40, [120, 0.0083])
    assert (found["skipped"], found["findings"]) == (1, ["T310"])
    assert worker.measured(tmp_path / "none")["course"] == []


@pytest.mark.slow
def test_records_alone_go_to_standard_output(monkeypatch, tmp_path):
    out = (tmp_path / "out").open("w")
    monkeypatch.setattr(sys, "stdin", io.StringIO('{"key": "a"}\n{"key": "b"}\n'))
    monkeypatch.setattr(sys, "stdout", out)

    def made(job):
        print("a library's words")
        return {"ended": "finished", **job}

    monkeypatch.setattr(worker, "made", made)
    with out:
        worker.main()
    lines = (tmp_path / "out").read_text().splitlines()
    assert [json.loads(line)["key"] for line in lines] == ["a", "b"]
