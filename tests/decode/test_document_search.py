"""Rows that come and go against the same rows searched alone by `n_best_rows`."""

import dataclasses

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.decode.copying import CopyingSession, copying
from trimtab.decode.document_search import InRounds, RunningSearch, document_search
from trimtab.decode.prefilled import Given
from trimtab.decode.rows import Row, n_best_rows
from trimtab.decode.sample import Draw
from trimtab.decode.sampling import Sampling
from trimtab.decode.search import Search
from trimtab.decode.setup import TranslationCounts
from trimtab.errors import RunFailed
from trimtab.inference import load_translator


def row(ids, target=()):
    return Row(ids=ids, given=Given(target=target, own_tokens=len(ids)), draw=Draw(0))


@pytest.fixture(scope="module")
def setup(trained_run):
    return load_translator(str(trained_run), device="cpu").setup


id_lists = st.lists(st.integers(4, 60), max_size=8)


@pytest.mark.slow
@given(
    arrivals=st.lists(st.lists(st.tuples(id_lists, id_lists), max_size=3), min_size=1, max_size=5),
    search=st.sampled_from(
        [Search(beam=1), Search(beam=3), Search(beam=2, stop="enough"), Search(beam=2, length_penalty=0.0)]
    ),
)
def test_rows_that_join_find_what_they_find_alone(setup, arrivals, search):
    setup = dataclasses.replace(setup, search=search)
    counts, expected_counts = TranslationCounts(), TranslationCounts()
    running = RunningSearch(setup, counts)
    put, found = {}, {}
    for new in arrivals:
        for ids, target in new:
            put[len(put)] = row([*ids, setup.tokenizer.end], target)
            running.put(len(put) - 1, put[len(put) - 1])
        found.update(running.advance())
    while len(running):
        found.update(running.advance())
    for key, each in put.items():
        expected = n_best_rows([each], setup, n=1, counts=expected_counts)[0][0]
        assert found[key].ids == expected.ids
        assert found[key].score == pytest.approx(expected.score, abs=1e-4)
        assert found[key].normalised == pytest.approx(expected.normalised, abs=1e-4)
    assert counts == expected_counts


def test_a_session_that_cannot_be_joined_takes_rows_when_it_has_none():
    setup = copying(beam=2)
    search = RunningSearch(setup, TranslationCounts())
    search.put("first", row([*range(4, 20), setup.tokenizer.end]))
    assert not search.is_full
    assert search.advance() == []
    assert search.is_full
    found = {}
    while len(search):
        found.update(search.advance())
    assert found["first"].ids == list(range(4, 20))
    assert not search.is_full


def test_it_is_full_when_a_batch_is():
    setup = copying(beam=2, batch_tokens=40)
    search = RunningSearch(setup, TranslationCounts())
    for number in range(2):
        assert not search.is_full
        search.put(number, row([5] * 9 + [setup.tokenizer.end]))
    assert search.is_full


def test_samples_and_searches_without_repetitions_and_one_document_alone_are_made_in_rounds():
    cases = [(Search(sampling=Sampling(seed=1)), 2), (Search(no_repeat_ngram=3), 2), (Search(), 1)]
    for search, side_by_side in cases:
        setup = dataclasses.replace(copying(), search=search)
        made = document_search(setup, TranslationCounts(), side_by_side=side_by_side)
        assert isinstance(made, InRounds)
        made.put("a", row([5, 6, setup.tokenizer.end]))
        assert [(key, found.ids) for key, found in made.advance()] == [("a", [5, 6])]
        assert len(made) == 0
    assert isinstance(document_search(copying(), TranslationCounts(), side_by_side=2), RunningSearch)


def test_scores_that_are_no_numbers_stop_it(monkeypatch):
    setup = copying(beam=2)
    monkeypatch.setattr(
        CopyingSession, "step", lambda session, tokens: torch.full((len(tokens), 2, 1000), float("nan"))
    )
    search = RunningSearch(setup, TranslationCounts())
    search.put("a", row([5, setup.tokenizer.end]))
    with pytest.raises(RunFailed, match="NaN"):
        search.advance()
