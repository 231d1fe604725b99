import gzip
import io
import json
import math

import pytest
import torch

from tests.language_run import PAIRS, language_recipe
from trimtab.cli.app import app
from trimtab.data.exact_text import ExactText
from trimtab.data.text_rows import split
from trimtab.errors import InputError
from trimtab.evaluation.texts import evaluate_text
from trimtab.inference import load_model
from trimtab.launch import train

pytestmark = pytest.mark.usefixtures("checks_of_data_only")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("text")
    return train(language_recipe(folder), out=folder / "run").run


def nats_directly(model, text):
    """Row by row, token by token, from the logits of the model alone."""
    exact, network = ExactText(model.tokenizer), model.model
    total, tokens = 0.0, 0
    for document in text.strip("\n").split("\n\n"):
        for row in split([*exact.ids([document])[0], exact.end], model.recipe.data.max_tokens, given=[]):
            ids = torch.tensor([exact.start, *row.ids[:-1]])
            places = torch.arange(len(ids))
            stream = torch_stream(ids, places)
            logits = (network.decode(stream) @ network.output_matrix.T)[:, : network.num_ids]
            found = logits.log_softmax(-1)[places, torch.tensor(row.ids)]
            total -= float(found[row.prompt :].sum())
            tokens += len(row.ids) - row.prompt
    return total, tokens


def torch_stream(ids, places):
    from trimtab.types import Stream

    ends = torch.tensor([0, len(ids)], dtype=torch.int32)
    return Stream(ids, places, torch.zeros_like(places), ends, len(ids))


@pytest.mark.slow
@torch.no_grad()
def test_perplexity_is_what_the_logits_say(run, tmp_path):
    text = "the small ship turns\nthe wind\n\n" + "old water " * 40 + "\n\nsail\n"
    (tmp_path / "a.txt").write_text(text)
    report = evaluate_text(str(run), text=tmp_path / "a.txt", device="cpu")
    nats, tokens = nats_directly(load_model(str(run), device="cpu"), text)
    size = sum(len(document.encode()) for document in text.strip("\n").split("\n\n"))
    assert (report.documents, report.tokens, report.bytes) == (3, tokens, size)
    assert report.loss == pytest.approx(nats / tokens, rel=1e-5)
    assert report.perplexity == pytest.approx(math.exp(nats / tokens), rel=1e-5)
    assert report.bits_per_byte == pytest.approx(nats / size / math.log(2), rel=1e-5)


def test_it_is_what_the_last_evaluation_of_the_run_said(run):
    last = json.loads((run / "evaluations.jsonl").read_text().splitlines()[-1])
    report = evaluate_text(f"{run}@last", text=run.parent / "dev.txt", device="cpu")
    for name in ("loss", "perplexity", "byte_perplexity", "bits_per_byte"):
        assert last[name] == pytest.approx(getattr(report, name), rel=1e-6)


def test_jsonl_gives_the_same_as_text(run, tmp_path):
    documents = (run.parent / "dev.txt").read_text().strip("\n").split("\n\n")
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"text": each}) + "\n" for each in documents))
    one, other = (
        evaluate_text(str(run), text=path) for path in (tmp_path / "a.jsonl", run.parent / "dev.txt")
    )
    assert one.loss == pytest.approx(other.loss, rel=1e-6)
    assert "bits per byte" in one.render()


def test_the_command_prints_them(run, capsys):
    assert app(
        ["evaluate", str(run), "--text", str(run.parent / "dev.txt"), "--json"], standalone_mode=False
    ) in (0, None)
    assert json.loads(capsys.readouterr().out)["documents"] == 6


def test_a_model_that_translates_is_refused(trained_run, tmp_path):
    (tmp_path / "a.txt").write_text("the ship\n")
    with pytest.raises(InputError, match="no language model"):
        evaluate_text(str(trained_run), text=tmp_path / "a.txt")


def test_so_is_a_file_without_documents(run, tmp_path):
    (tmp_path / "a.txt").write_text(" \n\n")
    with pytest.raises(InputError, match="the corpus is empty"):
        evaluate_text(str(run), text=tmp_path / "a.txt")


@pytest.mark.parametrize("packed", [bytes, gzip.compress])
def test_jsonl_through_a_pipe_gives_the_same_as_the_file(run, tmp_path, monkeypatch, packed):
    documents = (run.parent / "dev.txt").read_text().strip("\n").split("\n\n")
    data = "".join(json.dumps({"text": each}) + "\n" for each in documents).encode()
    (tmp_path / "a.jsonl").write_bytes(data)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(packed(data))))
    piped = evaluate_text(str(run), text="-")
    named = evaluate_text(str(run), text=tmp_path / "a.jsonl")
    assert (piped.documents, piped.bytes, piped.loss) == (named.documents, named.bytes, named.loss)


def test_jsonl_under_another_name_is_refused(run, tmp_path):
    (tmp_path / "a.json").write_text('{"text": "the ship"}\n')
    with pytest.raises(InputError, match="contains JSON"):
        evaluate_text(str(run), text=tmp_path / "a.json")


FIVE_STEPS = {"length": "5 steps", "step.schedule.warmup": "1 steps"}


@pytest.mark.slow
def test_a_model_of_pairs_alone_has_learned_no_text(tmp_path):
    run = train(language_recipe(tmp_path, **PAIRS, **FIVE_STEPS), out=tmp_path / "run").run
    with pytest.raises(InputError, match="was trained on pairs only") as caught:
        evaluate_text(str(run), text=tmp_path / "dev.txt")
    assert "--source FILE --reference FILE" in caught.value.problems[0].fix


@pytest.mark.slow
def test_pairs_beside_texts_are_not_in_the_way(tmp_path):
    both = {**PAIRS, "data.train": [{"source": "train.en", "target": "train.de"}, {"text": "train.txt"}]}
    run = train(language_recipe(tmp_path, **both, **FIVE_STEPS), out=tmp_path / "run").run
    assert evaluate_text(str(run), text=tmp_path / "dev.txt").documents == 6


@pytest.mark.slow
def test_an_export_foresees_a_text_as_the_run_does(text_run, exported_text, tmp_path):
    (tmp_path / "a.txt").write_text("the small ship turns\nthe wind\n\n" + "old water " * 40 + "\n\nsail\n")
    ours = evaluate_text(str(text_run), text=tmp_path / "a.txt", device="cpu")
    theirs = evaluate_text(str(exported_text), text=tmp_path / "a.txt", device="cpu")
    assert (theirs.documents, theirs.tokens, theirs.bytes) == (ours.documents, ours.tokens, ours.bytes)
    assert theirs.loss == pytest.approx(ours.loss, abs=1e-5)
    assert theirs.scores == pytest.approx(ours.scores, rel=1e-4)
