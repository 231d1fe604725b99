"""Documents against the same sentences by hand, on a model that copies and on one that was trained for seconds."""

import json

import pytest
import torch

from tests.decode.copying import copying
from tests.document_run import document_recipe, documents
from trimtab.decode.document_context import ALONE, DocumentContext
from trimtab.decode.documents import DocumentCounts, translate_documents
from trimtab.decode.search import Search
from trimtab.decode.stream import stream_of
from trimtab.evaluation.documents import evaluate_documents
from trimtab.inference import load_translator
from trimtab.launch import train
from trimtab.model.session import Session

pytestmark = pytest.mark.usefixtures("checks_of_data_only")

TEXTS = [["eins", "zwei", "", "drei"], [], ["x" * 200, "y"], ["vier"], [" "]]


@pytest.mark.parametrize("side_by_side", [1, 2, 64])
def test_every_sentence_has_its_translation_in_order(side_by_side):
    counts = DocumentCounts()
    found = list(translate_documents(TEXTS, copying(), ALONE, side_by_side=side_by_side, counts=counts))
    expected = [
        (0, "eins"),
        (0, "zwei"),
        (0, ""),
        (0, "drei"),
        (2, "x" * 200),
        (2, "y"),
        (3, "vier"),
        (4, ""),
    ]
    assert found == expected
    assert (counts.documents, counts.lines) == (5, 8)


def test_the_first_translation_is_there_before_the_second_sentence_is_read():
    read = []

    def document():
        for sentence in ("eins", "zwei", "drei"):
            read.append(sentence)
            yield sentence

    stream = translate_documents([document()], copying(), ALONE)
    assert next(stream) == (0, "eins")
    assert read == ["eins"]
    assert next(stream) == (0, "zwei")
    assert read == ["eins", "zwei"]


def test_the_model_reads_the_sentences_before_on_the_source_side():
    setup = copying()
    separator = setup.tokenizer.encode(["|"])[0][0]
    context = DocumentContext(
        sentences=1, both=False, whole=False, source_separator=separator, target_separator=-1
    )
    # The copying model copies its whole source, so that it shows what it was given.
    assert [text for _, text in translate_documents([["a", "b", "a"]], setup, context)] == ["a", "a|b", "b|a"]


@pytest.mark.slow
def test_ten_thousand_sentences_in_one_document():
    found = list(translate_documents([[f"{i % 7}" for i in range(10_000)]], copying(), ALONE))
    assert len(found) == 10_000
    assert found[-1] == (0, str(9_999 % 7))


def test_a_chunk_is_translated_at_once_and_shared_out():
    setup = copying()
    separator = setup.tokenizer.encode(["|"])[0][0]
    context = DocumentContext(
        sentences=1, both=True, whole=True, source_separator=separator, target_separator=separator
    )
    counts = DocumentCounts()
    found = list(translate_documents([["ab", "", "cd", "e" * 60, "f"]], setup, context, counts=counts))
    assert [text for _, text in found] == ["ab", "", "cd", "e" * 60, "f"]
    assert (counts.lines, counts.misaligned) == (5, 0)


@pytest.fixture(scope="module", params=[pytest.param("current", marks=pytest.mark.slow), "all"])
def trained(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("documents")
    context = {"kind": "context", "sentences": 2, "loss": request.param}
    often = {"evaluate.every": "1000 steps", "checkpoint.every": "1000 steps"}
    recipe = document_recipe(
        folder, **{"data.transforms": [context], "data.max_tokens": 48, "length": "40 steps", **often}
    )
    return folder, train(recipe, out=folder / "run").run, request.param


@pytest.mark.slow
def test_a_run_on_documents_learns_and_is_scored_in_context(trained):
    folder, run, loss = trained
    report = evaluate_documents(str(run), documents=folder / "dev.jsonl", beam=2)
    assert (report.documents, report.sentences) == (8, sum(map(len, documents(8, seed=2))))
    steps = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert steps[-1]["loss"] < 0.8 * steps[0]["loss"]
    assert max(step["target_tokens"] for step in steps) <= 256
    assert (report.chunks > 0) == (loss == "all")
    assert len(report.waits.first) == 8
    assert len(report.waits.every) == report.sentences


@pytest.mark.slow
def test_side_by_side_and_one_at_a_time_give_the_same(trained):
    _folder, run, _ = trained
    texts = [[pair[0] for pair in each] for each in documents(4, seed=3)]
    translator = load_translator(str(run), beam=2)
    together = list(translator.translate_documents([*texts, []]))
    alone = list(translator.translate_documents([*texts, []], side_by_side=1))
    assert together == alone
    assert [len(each) for each in together] == [*map(len, texts), 0]


class Steps:
    """Steps of the model, and rows in them."""

    def __init__(self, monkeypatch):
        self.sizes = []
        step = Session.step
        monkeypatch.setattr(Session, "step", lambda *args: (self.sizes.append(len(args[1])), step(*args))[1])

    def of(self, work):
        self.sizes.clear()
        found = list(work)
        return found, len(self.sizes), sum(self.sizes) / len(self.sizes)


@pytest.mark.slow
def test_a_document_waits_for_no_other(trained, monkeypatch):
    """All together take hardly more steps than the longest alone, where rounds would take each round's longest."""
    _, run, _ = trained
    translator = load_translator(str(run), beam=2)
    short, long = "ship", "the old ship turns slowly the red"
    texts = [[long if sentence % 8 == number else short for sentence in range(8)] for number in range(8)]
    steps = Steps(monkeypatch)
    alone = [steps.of(translator.translate_documents([each])) for each in texts]
    found, together, rows = steps.of(translator.translate_documents(texts))
    assert found == [each for documents, _, _ in alone for each in documents]
    assert together <= 1.5 * max(taken for _, taken, _ in alone)
    assert rows >= 0.6 * len(texts)


@pytest.mark.slow
def test_sentences_without_context_take_the_steps_of_lines(trained, monkeypatch):
    _, run, _ = trained
    translator = load_translator(str(run), beam=2)
    translator.context = ALONE
    texts = [[pair[0] for pair in each] for each in documents(6, seed=6)]
    steps = Steps(monkeypatch)
    lines, expected, _ = steps.of(translator.stream(text for each in texts for text in each))
    found, taken, _ = steps.of(translator.translate_documents(texts))
    assert [text for each in found for text in each] == lines
    assert taken == expected
    assert [text for _, text in translator.stream_documents(texts)] == lines


@pytest.mark.slow
@torch.inference_mode()
def test_greedy_translation_goes_on_from_the_models_own_sentences(trained):
    """By hand: each sentence's symbols, one at a time, behind the sources and the model's own translations."""
    _folder, run, loss = trained
    if loss == "all":
        pytest.skip("chunks are translated as a whole")
    translator = load_translator(str(run), search=Search(beam=1))
    setup, tokenizer = translator.setup, translator.setup.tokenizer
    separator = translator.context.target_separator
    for document in documents(2, seed=4):
        texts = [source for source, _ in document]
        before: list[tuple[list[int], list[int]]] = []
        expected = []
        for text in texts:
            ids = tokenizer.encode([text])[0]
            source = [id for left, _ in before[-2:] for id in (*left, separator)] + ids
            given = [id for _, right in before[-2:] for id in (*right, separator)]
            session = setup.model.open_session(
                stream_of([source], setup.device), rows=1, width=1, max_length=48
            )
            for token in [tokenizer.start, *given]:
                logits = session.step(torch.tensor([[token]]))
            written = []
            while len(written) < min(48 - len(given), 2 * len(ids) + 10) - 1:
                logits[..., [tokenizer.pad, tokenizer.unknown, tokenizer.start]] = float("-inf")
                token = int(logits.argmax())
                if token == tokenizer.end:
                    break
                written.append(token)
                logits = session.step(torch.tensor([[token]]))
            before.append((ids[:-1], [id for id in written if id != separator]))
            expected.append(tokenizer.decode([before[-1][1]])[0])
        assert [text for _, text in translator.stream_documents([texts])] == expected


def test_the_command_keeps_empty_lines_and_writes_json_documents(tmp_path):
    import io

    barely = {"data.valid": None, "length": "40 steps"}
    context = {"kind": "context", "sentences": 2, "loss": "all"}
    recipe = document_recipe(tmp_path, **{"data.transforms": [context], "data.max_tokens": 48, **barely})
    run = train(recipe, out=tmp_path / "run").run
    translator = load_translator(str(run), beam=1)
    text = "the old ship\nthe wind\n\nthe sail\n\n"
    output = io.StringIO()
    translator.write_documents(io.BytesIO(text.encode()), output)
    lines = output.getvalue().split("\n")
    assert len(lines) == len(text.split("\n"))
    assert [line for line, given in zip(lines, text.split("\n"), strict=True) if not given] == ["", "", ""]
    assert lines[0]
    output = io.StringIO()
    translator.write_documents(io.BytesIO(b'["the old ship", "the wind"]\n'), output, form="jsonl")
    assert json.loads(output.getvalue()) == lines[:2]
