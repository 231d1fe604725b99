import math

import numpy as np
import pytest

from tests.small_run import small_pairs
from trimtab.decode.candidate import Candidate
from trimtab.decode.sampling import Sampling
from trimtab.decode.search import Search
from trimtab.errors import InputError
from trimtab.evaluation.pairs import score
from trimtab.evaluation.reranking import Reranker, load_reranker, text_log_probabilities
from trimtab.evaluation.texts import evaluate_text
from trimtab.inference import Translator, load_model, load_translator

LINES = [*(pair[0] for pair in small_pairs(6, seed=4)), ""]


def candidate(text, *, score=-1.0, num_tokens=3):
    return Candidate(text=text, score=score, log_probability=score * num_tokens, num_tokens=num_tokens)


@pytest.fixture(scope="module")
def fluent(text_run):
    """A language model."""
    return load_model(str(text_run), device="cpu")


@pytest.mark.slow
def test_scores_are_sums_of_what_each_model_says_alone(trained_run, text_run, fluent):
    run = str(trained_run)
    few = [candidate("das schiff", num_tokens=3), candidate("das boot dreht", score=-0.5, num_tokens=5)]
    found = load_reranker(reverse={run: 0.5}, lm={str(text_run): 0.25}, length=2.0, device="cpu").rerank(
        ["the ship"], [few]
    )
    expected = {}
    fluency = text_log_probabilities(fluent, [each.text for each in few])
    for each, fluent_score in zip(few, fluency, strict=True):
        (pair,) = score(run, [each.text], ["the ship"], device="cpu")
        expected[each.text] = (
            each.score + 0.5 * pair.per_token + 0.25 * fluent_score + 2 * each.num_tokens / 4
        )
    assert {each.text: each.score for each in found[0]} == pytest.approx(expected)
    assert [each.text for each in found[0]] == sorted(expected, key=lambda text: -expected[text])


@pytest.mark.slow
def test_a_text_is_scored_as_a_document_of_its_own(text_run, fluent, tmp_path):
    text = "the ship turns"
    (tmp_path / "one.txt").write_text(text)
    (found,) = text_log_probabilities(fluent, [text])
    report = evaluate_text(str(text_run), text=tmp_path / "one.txt", device="cpu")
    assert found == pytest.approx(-report.loss, rel=1e-4)
    long, short = text_log_probabilities(fluent, [text * 60, text])
    assert short == pytest.approx(found, rel=1e-5)
    assert math.isfinite(long)
    assert len(text_log_probabilities(fluent, [])) == 0


def test_what_a_model_cannot_read_gets_its_worst_score_of_the_line(trained_run):
    few = [candidate("das schiff"), candidate("das " * 60, score=5.0), candidate("der", score=-2.0)]
    reranker = load_reranker(reverse={str(trained_run): 1.0}, device="cpu")
    (found,) = reranker.rerank(["the ship"], [few])
    added = {each.text: each.score - old.score for each in found for old in few if old.text == each.text}
    assert added["das " * 60] == pytest.approx(min(added["das schiff"], added["der"]))
    (none,) = reranker.rerank(["the " * 60], [few])
    assert [each.score for each in none] == [5.0, -1.0, -2.0]


@pytest.mark.slow
def test_a_stream_is_reranked_line_by_line(trained_run, monkeypatch):
    from trimtab.evaluation import reranking

    monkeypatch.setattr(reranking, "BLOCK_CANDIDATES", 7)
    for search in (Search(beam=4), Search(sampling=Sampling(seed=2))):
        translator = load_translator(str(trained_run), search=search, device="cpu")
        lists = translator.n_best(LINES, n=4)
        reranker = Reranker(length=3.0)
        found = list(reranker.stream(translator, LINES, n=4))
        assert [[each.text for each in few] for few in found] == [
            [each.text for each in few] for few in reranker.rerank(LINES, lists)
        ]
        assert found[-1][0].text == ""


def test_what_was_read_is_answered_before_more_is_read(trained_run, monkeypatch):
    read = []

    def line_by_line(self, lines, *, n, prefixes):
        for line in lines:
            yield [candidate(line), candidate(line * 2)]

    def lines():
        for line in ("a", "b", "c"):
            read.append(line)
            yield line

    monkeypatch.setattr(Translator, "n_best_stream", line_by_line)
    stream = Reranker(length=1.0).stream(load_translator(str(trained_run), device="cpu"), lines(), n=2)
    assert next(stream)[0].text == "a"
    assert read == ["a"]
    assert len(list(stream)) == 2


def test_what_nothing_can_be_reranked_by_is_wrong_input(trained_run, text_run):
    with pytest.raises(InputError, match="nothing to rerank by"):
        load_reranker()
    with pytest.raises(InputError, match="a translation model"):
        load_reranker(lm={str(trained_run): 1.0}, device="cpu")
    with pytest.raises(InputError, match="<nope>"):
        load_reranker(reverse={str(trained_run): 1.0}, reverse_tags=["<nope>"], device="cpu")
    assert np.isfinite(text_log_probabilities(load_model(str(text_run), device="cpu"), [""])).all()
