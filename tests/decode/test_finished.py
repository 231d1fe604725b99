import itertools

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.reference.recurrent_model import RecurrentModel
from trimtab.decode.beam import beam_search, n_best_beam_search
from trimtab.decode.finished import BestFinished, Ended, FewFinished
from trimtab.decode.hypothesis import Symbols
from trimtab.decode.search import Search
from trimtab.decode.stream import stream_of

CPU = torch.device("cpu")
SYMBOLS = Symbols(start=1, end=2, suppress=(0, 1))


def every_sentence(model, row, *, limit, length_penalty):
    """All sentences within the limit with their normalised scores, the best first."""
    every = []
    for length in range(limit):
        for ids in itertools.product((3, 4), repeat=length):
            prefix, score = [SYMBOLS.start], 0.0
            for symbol in (*ids, SYMBOLS.end):
                score += model.log_probabilities(row, prefix)[symbol]
                prefix.append(symbol)
            every.append((score / (length + 1) ** length_penalty, list(ids), score))
    return sorted(every, reverse=True)


@given(
    seed=st.integers(0, 10_000),
    length_penalty=st.sampled_from([0.0, 0.6, 1.0]),
    n=st.sampled_from([1, 3, 15, 40]),
)
def test_a_beam_that_holds_everything_finds_the_n_best_sentences_of_all(seed, length_penalty, n):
    model, rows, limit = RecurrentModel(seed, vocabulary=5), [[3, 4, 2], [4]], 4
    search = Search(beam=64, length_penalty=length_penalty)
    found = n_best_beam_search(
        model, stream_of(rows, CPU), limits=[limit, limit], symbols=SYMBOLS, search=search, n=n
    )
    for few, row in zip(found, rows, strict=True):
        best = every_sentence(model, row, limit=limit, length_penalty=length_penalty)[:n]
        assert len(few) == min(n, 15)  # 1 + 2 + 4 + 8 sentences
        assert [hypothesis.ids for hypothesis in few] == [ids for _, ids, _ in best]
        assert [hypothesis.normalised for hypothesis in few] == pytest.approx([each[0] for each in best])
        assert [hypothesis.score for hypothesis in few] == pytest.approx([each[2] for each in best])


@given(data=st.data(), seed=st.integers(0, 10_000), beam=st.integers(2, 5), n=st.integers(1, 5))
def test_the_first_of_a_list_is_what_the_search_for_one_finds(data, seed, beam, n):
    model = RecurrentModel(seed, vocabulary=7)
    rows = data.draw(st.lists(st.lists(st.integers(0, 6), min_size=1, max_size=4), min_size=1, max_size=6))
    limits = data.draw(st.lists(st.integers(1, 14), min_size=len(rows), max_size=len(rows)))
    shared = {"limits": limits, "symbols": SYMBOLS, "search": Search(beam=beam)}
    lists = n_best_beam_search(model, stream_of(rows, CPU), n=min(n, beam), **shared)
    for few, best in zip(lists, beam_search(model, stream_of(rows, CPU), **shared), strict=True):
        assert few[0].ids == best.ids
        assert few[0].normalised == pytest.approx(best.normalised)
        scores = [each.normalised for each in few]
        assert scores == sorted(scores, reverse=True)
        assert len({tuple(each.ids) for each in few}) == len(few) <= min(n, beam)


def test_no_rows_give_no_lists():
    model = RecurrentModel(1, vocabulary=5)
    empty = n_best_beam_search(
        model, stream_of([], CPU), limits=[], symbols=SYMBOLS, search=Search(beam=4), n=2
    )
    assert empty == []


def ended(scores, *, num_ids=1):
    ids = torch.arange(4).view(1, 2, 2)
    return Ended(
        scores=torch.tensor([scores]),
        parents=torch.tensor([[0, 1, 0, 1]]),
        ids=ids,
        num_ids=num_ids,
        length_penalty=1.0,
    )


NEVER = float("-inf")


def test_rows_that_are_done_keep_what_they_have():
    closed = torch.tensor([True])
    best = BestFinished.begin(1, 2, end=2, device=CPU)
    few = FewFinished.begin(1, 2, few=2, end=2, device=CPU)
    for finished in (best, few):
        finished.add(ended([-1.0, NEVER]), done=~closed)
        finished.add(ended([-0.1, -0.2]), done=closed)
    assert best.found([0])[0].score == -1.0
    assert [each.score for each in few.found([0])[0]] == [-1.0]
    assert few.to_beat.tolist() == [NEVER]


def test_where_nothing_ended_there_is_an_empty_one_of_probability_zero():
    few = FewFinished.begin(1, 2, few=2, end=2, device=CPU)
    (found,) = few.found([0])
    assert [(each.ids, each.score) for each in found] == [([], NEVER)]
