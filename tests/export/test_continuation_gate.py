import math

import pytest
import torch

from tests.export.text_models import TEXTS, WINDOW, gate_texts_of, network, vocabulary
from trimtab.data.exact_text import ExactText
from trimtab.export.continuation_gate import ContinuationReport, compare_continuations
from trimtab.export.gate import BOUND
from trimtab.export.hf import llama
from trimtab.export.hf.llama_opened import OpenedText

TEXTS = TEXTS[:24]


@pytest.fixture(scope="module", params=["unigram", pytest.param("bytes", marks=pytest.mark.slow)])
def exported(request, tmp_path_factory):
    """A model, its tokenizer, and its export, opened."""
    tokenizer, folder = vocabulary(request.param), tmp_path_factory.mktemp(request.param)
    model = network(tokenizer.num_ids, kv_heads=2)
    llama.write(model, tokenizer, folder, window=WINDOW)
    return model, tokenizer, OpenedText(folder)


def report_on(exported, texts=TEXTS) -> ContinuationReport:
    model, tokenizer, opened = exported
    return compare_continuations(model, ExactText(tokenizer), opened, gate_texts_of(tokenizer, texts))


@pytest.mark.slow
def test_an_export_of_the_same_weights_passes(exported):
    report = report_on(exported)
    assert report.passed
    assert 0 < report.worst_logit < BOUND
    assert report.texts > 10
    assert report.continued == min(report.texts, 32)
    assert report.to_dict()["passed"] is True
    assert "continued greedily" in report.render()


@pytest.mark.quick("unigram-nan")
@pytest.mark.parametrize("amount", [3e-3, math.nan])
def test_one_weight_that_is_not_the_same_is_seen(exported, amount):
    _, _, opened = exported
    weight = opened.network.model.layers[1].mlp.down_proj.weight
    kept = weight.detach().clone()
    with torch.no_grad():
        weight[3] += amount
    try:
        report = report_on(exported)
    finally:
        with torch.no_grad():
            weight.copy_(kept)
    assert not report.passed
    assert not report.worst_logit <= BOUND


@pytest.mark.slow
def test_other_greedy_texts_are_shown(exported, monkeypatch):
    _, _, opened = exported
    right = opened.continued
    monkeypatch.setattr(opened, "continued", lambda prompt, *, limit: [*right(prompt, limit=limit)[:-1], 7])
    report = report_on(exported, TEXTS[:6])
    assert not report.passed
    assert report.worst_logit <= BOUND
    assert "became" in report.continued_otherwise[0]


@pytest.mark.slow
def test_ids_and_text_of_another_tokenizer_are_seen(exported, monkeypatch):
    _, _, opened = exported
    encode, decode = opened.encode, opened.decode
    monkeypatch.setattr(opened, "encode", lambda texts: [[*ids[:-1], 9] for ids in encode(texts)])
    monkeypatch.setattr(opened, "decode", lambda rows: [text.upper() for text in decode(rows)])
    report = report_on(exported, TEXTS[:6])
    assert not report.passed
    assert (len(report.read_otherwise), len(report.written_otherwise)) == (report.texts, report.texts)


def test_a_split_of_the_same_score_that_gives_the_same_text_is_a_tie(tmp_path, monkeypatch):
    tokenizer = vocabulary("unigram")
    text = two_piece_text(ExactText(tokenizer))
    model = network(tokenizer.num_ids)
    llama.write(model, tokenizer, tmp_path, window=WINDOW)
    opened = OpenedText(tmp_path)
    start, *ids = opened.encode([text])[0]
    monkeypatch.setattr(opened, "encode", lambda texts: [[start, *reversed(ids)]])
    report = report_on((model, tokenizer, opened), [text])
    assert (report.passed, report.split_ties, report.read_otherwise) == (True, 1, ())


def two_piece_text(tokenizer: ExactText) -> str:
    """Three times one character, which two pieces spell in either order."""
    texts = [letter * 3 for letter in "abcdefghijklmnopqrstuvwxyz.0-"]
    return next(
        text
        for text, ids in zip(texts, tokenizer.ids(texts), strict=True)
        if len(ids) == 2 and ids[0] != ids[1]
    )
